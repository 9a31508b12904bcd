"""Classes and times until an event of many rows: samples that grow, and looks at all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect import REVS
from rlselect.data import Units, open_source
from rlselect.subset.revs import _outcome_effort
from rlselect.subset.revs._outcome_effort import OutcomeRows
from rlselect.subset.revs._outcome_kind import OutcomeKind, read_survival
from rlselect.subset.revs.evidence import Rows

N, P = 6000, 6


def rows_of_kind(family, seed=0, n=N):
    """Columns 0 and 1 have a clear effect, 2 one that only many rows show."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P)) + 0.5 * rng.normal(size=(n, 1))
    eta = X[:, 0] - 0.8 * X[:, 1] + 0.09 * X[:, 2]
    if family == "cox":
        time = rng.exponential(np.exp(-eta))
        return X, {"time": np.minimum(time, 2.0), "event": time < 2.0}
    if family == "ordinal":
        return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
    scores = np.outer(eta, [1.0, 0.0, -1.0]) - np.log(-np.log(rng.random((n, 3))))
    return X, np.array(["a", "b", "c"])[scores.argmax(axis=1)]


def opened(family, X, y, weight=None):
    """A table with numbers as response, and the kind of its outcome."""
    if family == "cox":
        kind, codes, _ = read_survival(y["time"], {"event": y["event"]}, "efron")
    else:
        labels, codes = np.unique(y, return_inverse=True)
        kind = OutcomeKind(family, len(labels))
    table = open_source(X, codes.astype(float), sample_weight=weight)
    table.start(np.random.default_rng(0))
    return OutcomeRows(table, kind, Units(np.array([0, 1, 2, 3, 4, 4])), Rows(table.take))


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_look_at_the_rows_of_the_sample_prices_moves_as_the_sample_does(family, is_sparse):
    X, y = rows_of_kind(family, n=300)
    weight = np.random.default_rng(1).integers(1, 4, size=300).astype(float)
    sample = opened(family, sparse.csr_array(X) if is_sparse else X, y, weight)
    sample.draw(300)
    state = sample.state()
    state.reset(np.array([True, False, True, False, False]))
    look = sample.look_at_all(*state.look(), lambda: False)
    assert (look.n_rows, look.counted) == (300, weight.sum())
    moves, coef = state.seen(look)
    np.testing.assert_allclose(moves, state.moves(), atol=2e-2)
    np.testing.assert_allclose(coef, np.concatenate([state.coef[0], state.coef[1].ravel()]), atol=1e-3)
    # from elsewhere one Newton step leads near the mode
    away = coef + 0.05
    _, back = state.seen(sample.look_at_all(*state.look(away), lambda: False))
    np.testing.assert_allclose(back, coef, atol=5e-3)
    assert sample.look_at_all(*state.look(), lambda: True) is None


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_many_rows_select_what_a_walk_on_all_of_them_does(family, monkeypatch):
    X, y = rows_of_kind(family)
    model = REVS(family=family, random_state=0).fit(X, y)
    assert model.stop_reason_ in ("decided", "all rows")
    assert model.n_rows_seen_ == N
    monkeypatch.setattr("rlselect.subset.revs._search.WALK_ROWS", N)
    walked = REVS(family=family, random_state=0).fit(X, y)
    assert walked.stop_reason_ == "converged"
    np.testing.assert_array_equal(model.support_, walked.support_)
    assert list(np.flatnonzero(model.support_)) == [0, 1, 2]
    if model.n_rows_read_ == N:
        np.testing.assert_allclose(model.coef_, walked.coef_, atol=1e-6)


@pytest.mark.parametrize("family", ["auto", "ordinal"])
def test_files_are_read_in_parts(family, tmp_path):
    X, y = rows_of_kind("multinomial" if family == "auto" else family)
    frame = pd.DataFrame(X, columns=list("uvwxyz")).assign(answer=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    model = REVS(family=family, random_state=0).fit(tmp_path / "rows.parquet", "answer")
    other = REVS(family=family, random_state=0).fit(lambda: iter([frame[:4000], frame[4000:]]), "answer")
    whole = REVS(family=family, random_state=0).fit(X, y)
    for fitted in (model, other):
        np.testing.assert_array_equal(fitted.support_, whole.support_)
        np.testing.assert_array_equal(fitted.classes_, whole.classes_)
        np.testing.assert_allclose(fitted.coef_, whole.coef_, atol=0.1)
    assert model.score(frame.drop(columns="answer"), y) > 0.5


def test_a_class_that_the_first_rows_did_not_show_is_told(tmp_path):
    X, y = rows_of_kind("ordinal", n=300_000 // P)
    y[-1] = 9
    pd.DataFrame(X, columns=list("uvwxyz")).assign(answer=y).to_parquet(
        tmp_path / "rows.parquet", row_group_size=2000
    )
    with pytest.raises(ValueError, match="has the class 9, which is not among the 3"):
        REVS(family="ordinal", random_state=0).fit(tmp_path / "rows.parquet", "answer")


def test_a_sample_grows_no_further_than_the_memory_allows(monkeypatch):
    X, y = rows_of_kind("ordinal", n=20_000)
    monkeypatch.setattr(_outcome_effort, "_MOST_NUMBERS", 7000 * P)
    model = REVS(family="ordinal", random_state=0).fit(X, y)
    assert (model.stop_reason_, model.n_rows_read_) == ("memory", 7000)
    assert model.support_[:2].all()
    assert "as many rows are used as may be held" in str(model.summary()).replace("\n", " ")


@pytest.mark.parametrize("family", ["multinomial", "ordinal"])
def test_a_class_of_one_row_is_drawn_before_the_search_begins(family, monkeypatch):
    X, y = rows_of_kind("ordinal")
    y[y == 2] = 3
    # the last row that is drawn
    y[np.random.default_rng(0).permutation(N)[-1]] = 2
    model = REVS(family=family, random_state=0).fit(X, y)
    assert model.support_[:2].all()
    assert model.n_rows_read_ == N
    assert list(model.classes_) == [0, 1, 2, 3]
    monkeypatch.setattr(_outcome_effort, "_MOST_NUMBERS", 5500 * P)
    with pytest.raises(ValueError, match="class number 3 of 4 that none is among 5,500 rows"):
        REVS(family=family, random_state=0).fit(X, y)


def test_noise_is_decided_by_a_look_from_the_empty_subset():
    _, y = rows_of_kind("multinomial")
    model = REVS(random_state=0).fit(np.random.default_rng(9).normal(size=(N, 4)), y)
    assert not model.support_.any()
    assert (model.stop_reason_, model.n_rows_read_) == ("decided", 5000)


def test_time_runs_out_in_the_middle_of_a_look(monkeypatch):
    X, y = rows_of_kind("multinomial")
    monkeypatch.setattr(OutcomeRows, "look_at_all", lambda self, look, subset, is_stopped: None)
    model = REVS(random_state=0).fit(X, y)
    assert model.support_[:2].all()
