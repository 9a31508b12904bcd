"""Half of the rows select, the other half estimates."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rlselect import REVS
from rlselect.subset.revs._split import split_rows


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    return X, 2.0 + X[:, 0] - X[:, 5] + rng.normal(size=n)


def test_the_other_half_gives_coefficients_and_errors():
    X, y = rows()
    model = REVS(random_state=0, inference="split").fit(X, y)
    inside = np.flatnonzero(model.support_)
    assert {0, 5} <= set(inside)
    # the rows of the selection are half of all; those of the estimate are the rest
    assert model.n_rows_read_ == 60
    order = np.random.default_rng(0).permutation(120)
    for part, same in ((np.sort(order[1::2]), True), (np.sort(order[::2]), False)):
        fit = LinearRegression().fit(X[part][:, inside], y[part])
        assert np.allclose(fit.coef_, model.coef_[inside], atol=1e-8) == same
        A = np.column_stack([np.ones(60), X[part][:, inside]])
        residual = y[part] - A @ np.append(fit.intercept_, fit.coef_)
        errors = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (residual @ residual) / (60 - A.shape[1]))
        shown = [v["error"] for v in sorted(model.summary().dict["variables"], key=lambda v: v["name"])]
        names = sorted(f"x{j}" for j in inside)
        own = dict(zip([f"x{j}" for j in inside], errors[1:], strict=True))
        assert np.allclose(shown, [own[name] for name in names]) == same
    assert "honest: the variables were selected on 60 rows" in str(model.summary()).replace("\n> ", " ")


def test_a_response_of_the_other_half_selects_nothing():
    X, y = rows()
    model = REVS(random_state=0, inference="split").fit(X, y)
    apart = np.sort(np.random.default_rng(0).permutation(120)[1::2])
    other = y.copy()
    other[apart] = np.random.default_rng(9).normal(size=60) * 50.0
    again = REVS(random_state=0, inference="split").fit(X, other)
    np.testing.assert_array_equal(again.inclusion_, model.inclusion_)
    np.testing.assert_array_equal(again.coef_average_, model.coef_average_)
    assert not np.allclose(again.coef_, model.coef_)


def test_classes_are_divided_evenly():
    X, _ = rows(n=41)
    y = np.zeros(41, dtype=int)
    y[[0, 1]] = 1
    model = REVS(random_state=3, inference="split").fit(X, y)
    assert model.n_rows_read_ == 21


def test_weights_and_offsets_go_along():
    X, y = rows()
    known = np.linspace(-1, 1, 120)
    weight = np.arange(120) % 3
    model = REVS(random_state=0, inference="split").fit(X, y + known, sample_weight=weight, offset=known)
    part = np.sort(np.random.default_rng(0).permutation(120)[1::2])
    inside = np.flatnonzero(model.support_)
    fit = LinearRegression().fit(X[part][:, inside], y[part], sample_weight=weight[part])
    np.testing.assert_allclose(model.coef_[inside], fit.coef_, atol=1e-8)


def test_stability_is_the_share_of_halves():
    X, y = rows()
    model = REVS(random_state=0)
    found = model.stability(X, y, n_splits=2)
    rng, chosen = np.random.default_rng(0), []
    for _ in range(2):
        half = rng.permutation(120) % 2
        for side, seed in enumerate(rng.integers(2**31, size=2)):
            part = REVS(random_state=int(seed)).fit(X[half == side], y[half == side])
            chosen.append(part.support_)
    np.testing.assert_array_equal(found, np.mean(chosen, axis=0))
    assert found[0] == found[5] == 1.0
    assert not hasattr(model, "support_")
    with pytest.raises(ValueError, match="n_splits=0 was given"):
        model.stability(X, y, n_splits=0)


def test_messages(tmp_path):
    X, y = rows()
    with pytest.raises(ValueError, match='inference="split" was given, but the rows are read in parts'):
        split_rows([SimpleNamespace(table=object())], np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"checkpoint=.* has no effect with inference='split'"):
        REVS(inference="split", checkpoint=str(tmp_path / "c")).fit(X, y)
    with pytest.raises(ValueError, match="6"):
        REVS(inference="split").fit(X[:5], y[:5])


@pytest.mark.slow
def test_intervals_of_the_split_cover_and_those_of_the_refit_do_not():
    covered = {"refit": [], "split": []}
    for seed in range(3000, 3100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 40))
        coef = np.zeros(40)
        coef[:10] = 0.25
        y = X @ coef + rng.normal(size=100)
        for inference, hits in covered.items():
            model = REVS(random_state=seed, inference=inference, rule="f1").fit(X, y)
            inside = model.support_
            # what the coefficients estimate: the best linear predictor from the selected columns, which are
            # independent of the others
            off = np.abs(model.coef_ - coef)[inside]
            hits += list(off < 1.98 * model._errors[inside])
    share = {name: np.mean(hits) for name, hits in covered.items()}
    assert 0.92 < share["split"] < 0.99
    assert share["refit"] < share["split"] - 0.03


def test_a_series_that_time_is_too_short_for_is_taken_row_by_row(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.array(list("abc"))[np.digitize(2.0 * X[:, 0] + rng.normal(size=300), [-1.0, 1.0])]
    monkeypatch.setattr("rlselect.subset.revs._split.slower_here", lambda: 1e9)
    with pytest.warns(UserWarning, match="rows are taken as independent"):
        fit = REVS(time_ordered=True, time_budget=20.0, random_state=0).fit(X, y)
    assert fit.stop_reason_ == "time budget, rows taken as independent"
    assert fit.support_[0]
    assert "independent" in str(fit.summary())
