"""REVS on classes, ordered classes and times: predictions, averages, weights, files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import rlselect
from rlselect import REVS
from rlselect.kernels import class_contrasts
from rlselect.subset.revs import _outcome_model as outcome_model
from rlselect.subset.revs._outcome_kind import OutcomeKind
from rlselect.subset.revs.evidence import fit_outcome

N, P = 150, 6


def data(family, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) + 3.0
    eta = 1.5 * (X[:, 0] - 3.0) - 1.2 * (X[:, 3] - 3.0)
    if family == "multinomial":
        noise = -np.log(-np.log(rng.random((N, 3))))
        other = np.column_stack([np.zeros(N), eta, 1.5 * (X[:, 3] - 3.0)])
        return X, np.array(["x", "y", "z"], dtype=object)[np.argmax(other + noise, axis=1)]
    if family == "ordinal":
        return X, 10 * np.digitize(eta + rng.logistic(size=N), [-1.0, 1.0])
    time, end = rng.exponential(np.exp(-eta)), rng.exponential(2.0, N)
    y = np.zeros(N, dtype=[("event", bool), ("time", float), ("stratum", "U1")])
    y["event"], y["time"] = time <= end, np.round(np.minimum(time, end), 2)
    y["stratum"] = np.where(np.arange(N) % 2, "m", "f")
    return X, y


@pytest.fixture(scope="module")
def fits():
    return {f: REVS(family=f, random_state=0).fit(*data(f)) for f in ("multinomial", "ordinal", "cox")}


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_the_true_columns_are_selected(fits, family):
    fit, (X, y) = fits[family], data(family)
    np.testing.assert_array_equal(np.flatnonzero(fit.support_), [0, 3])
    assert fit.stop_reason_ == "converged"
    assert fit.score(X, y) > (0.75 if family == "cox" else 0.55)
    assert sorted(fit.ranking_[:4][[0, 3]]) == [1, 2]
    assert fit.gain_[0] > 0.05
    np.testing.assert_array_equal(fit.select(fdr=0.1), fit.support_)
    text = str(fit.summary())
    assert "x0" in text
    assert "in five held-out folds" in text


def test_classes_are_those_of_scikit_learn(fits):
    fit, (X, y) = fits["multinomial"], data("multinomial")
    known = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000, solver="newton-cg").fit(X[:, [0, 3]], y)
    proba = fit.predict_proba(X, average=False)
    np.testing.assert_allclose(proba, known.predict_proba(X[:, [0, 3]]), atol=1e-6)
    np.testing.assert_array_equal(fit.predict(X, average=False), known.predict(X[:, [0, 3]]))
    np.testing.assert_allclose(fit.coef_.sum(axis=0), 0.0, atol=1e-9)
    scores = fit.decision_function(X, average=False)
    np.testing.assert_array_equal(fit.classes_[np.argmax(scores, axis=1)], fit.predict(X, average=False))


def test_ordered_classes_have_cumulative_odds(fits):
    fit, (X, _) = fits["ordinal"], data("ordinal")
    proba = fit.predict_proba(X, average=False)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    above = 1.0 / (1.0 + np.exp(-(X @ fit.coef_ + fit.intercept_[0])))
    np.testing.assert_allclose(1.0 - proba[:, 0], above, atol=1e-12)
    np.testing.assert_array_equal(fit.predict(X, average=False), fit.classes_[np.argmax(proba, axis=1)])
    assert set(fit.predict(X)) <= {0, 10, 20}
    # what is known of a row moves all of its odds
    moved = fit.predict_proba(X, offset=np.full(N, 50.0))
    assert np.all(moved[:, 2] > 0.999)


def test_survival_is_that_of_the_baseline(fits):
    fit, (X, y) = fits["cox"], data("cox")
    with pytest.raises(ValueError, match="fit had strata"):
        fit.predict_survival_function(X)
    with pytest.raises(ValueError, match="stratum holds 'q'"):
        fit.predict_survival_function(X, stratum="q")
    times = np.array([0.0, 0.3, 1.0])
    curves = fit.predict_survival_function(X, times, stratum=y["stratum"], average=False)
    # naive twin, by hand from the definition; ties of rounded times by Efron's rule
    risk = np.exp(X @ fit.coef_)
    for i in (0, 1):
        mine = y["stratum"] == y["stratum"][i]
        for j, when in enumerate(times):
            hazard = 0.0
            for t in np.unique(y["time"][mine & y["event"] & (y["time"] <= when)]):
                dying = mine & y["event"] & (y["time"] == t)
                at_risk, tied, m = risk[mine & (y["time"] >= t)].sum(), risk[dying].sum(), dying.sum()
                hazard += sum(1.0 / (at_risk - k / m * tied) for k in range(m))
            assert curves[i, j] == pytest.approx(np.exp(-hazard * risk[i]), rel=1e-9)
    assert fit.predict_survival_function(X, stratum="m").shape == (N, len(fit.event_times_))
    assert fit.predict_survival_function(X, 0.3, stratum="m").shape == (N, 1)
    assert not hasattr(fit, "predict_proba")
    # however far out a row is, before the start all are alive
    far = fit.predict_survival_function(1e16 * np.sign(fit.coef_)[None, :], [-1.0, 0.3, 1.0], stratum="m")
    np.testing.assert_array_equal(far, [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_a_file_predicts_the_same(fits, family, tmp_path):
    fit, (X, _) = fits[family], data(family)
    rlselect.save(fit, tmp_path / "fit")
    loaded = rlselect.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.predict(X), fit.predict(X))
    if family == "cox":
        given = {"stratum": "f", "times": [0.5]}
        again = loaded.predict_survival_function(X, **given)
        np.testing.assert_array_equal(again, fit.predict_survival_function(X, **given))


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_a_weight_is_a_number_of_copies(family):
    X, y = data(family)
    weight = np.random.default_rng(5).integers(0, 3, N)
    weight[:6] = 1
    copies = np.repeat(np.arange(N), weight)[::-1]
    one = REVS(family=family, random_state=0).fit(X, y, sample_weight=weight.astype(float))
    other = REVS(family=family, random_state=0).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.inclusion_, other.inclusion_, atol=1e-6)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-7)
    np.testing.assert_allclose(one.coef_average_, other.coef_average_, atol=1e-6)
    assert one.average_ == other.average_
    np.testing.assert_allclose(one.gain_, other.gain_, atol=1e-7)


def test_text_columns_enter_with_all_their_levels():
    X, y = data("multinomial")
    rng = np.random.default_rng(1)
    city = np.array(["Oslo", "Rome", "Bonn"], dtype=object)
    there = rng.integers(0, 3, N)
    told = np.array(["x", "y", "z"], dtype=object)
    y = np.where(rng.random(N) < 0.5, told[there], y)
    table = np.column_stack([X[:, 1:3].astype(object), city[there]])
    fit = REVS(random_state=0).fit(table, y)
    np.testing.assert_array_equal(fit.support_, [False, False, True])
    assert fit.coef_.shape == (3, 4)
    assert np.all(fit.coef_[:, 2:] != 0)


def test_half_of_the_rows_give_the_coefficients(fits):
    X, y = data("ordinal")
    fit = REVS(family="ordinal", inference="split", random_state=0).fit(X, y)
    assert "honest" in str(fit.summary())
    assert np.abs(fit.coef_[0] - fits["ordinal"].coef_[0]) > 1e-3


def test_of_more_rows_than_a_walk_takes_those_are_used_that_decide():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((6000, 3))
    y = np.digitize(0.3 * X[:, 1] + rng.logistic(size=6000), [-0.5, 0.5])
    fit = REVS(family="ordinal", random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(fit.support_), [1])
    assert (fit.n_rows_read_, fit.n_rows_seen_, fit.stop_reason_) == (5000, 6000, "decided")


def test_the_average_is_the_mean_of_the_modes():
    X, y = data("ordinal")
    X = X[:, [0, 1, 3]]
    fit = REVS(family="ordinal", random_state=0).fit(X, y)
    codes = (y // 10).astype(float)
    kind = rlselect.subset.revs._outcome_kind.OutcomeKind("ordinal", 3)
    refit = fit_outcome(X[:, fit.support_], codes, kind.make, None, None)
    np.testing.assert_allclose(fit.coef_[fit.support_], refit.coef[:, 0], atol=1e-10)
    # between the refit and nothing, and near the former where the columns are sure
    assert np.all(np.abs(fit.coef_average_[[0, 2]]) < np.abs(fit.coef_[[0, 2]]))
    np.testing.assert_allclose(fit.coef_average_[[0, 2]], fit.coef_[[0, 2]], rtol=0.2)


STAGES = ["none", "mild", "bad", "never seen"]


def test_ordered_categories_keep_their_order_and_labels(fits):
    X, y = data("ordinal")
    text = np.array(STAGES)[y // 10]
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(
        stage=pd.Categorical(text, categories=STAGES, ordered=True)
    )
    fit = REVS(family="ordinal", random_state=0).fit(frame, "stage")
    assert fit.classes_.tolist() == STAGES[:3]
    np.testing.assert_allclose(fit.coef_, fits["ordinal"].coef_, rtol=1e-8)
    np.testing.assert_array_equal(fit.predict(frame), np.array(STAGES)[fits["ordinal"].predict(X) // 10])
    assert fit.score(frame, text) == fits["ordinal"].score(X, y)


def test_categories_without_an_order_are_refused():
    X, y = data("ordinal")
    with pytest.raises(ValueError, match="ordered categories"):
        REVS(family="ordinal").fit(X, pd.Series(np.array(STAGES)[y // 10], dtype="category"))


def test_a_ridge_of_all_columns_has_a_share_where_left_out_rows_ask_for_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 16))
    dense = np.digitize(X @ np.full(16, 0.2) + rng.logistic(size=100), [-1.0, 1.0])
    sparse = np.digitize(2.0 * X[:, 0] + rng.logistic(size=100), [-1.0, 1.0])
    mixed, alone = (REVS(family="ordinal", random_state=0).fit(X, y) for y in (dense, sparse))
    assert mixed._average.share_of_all > 0.2
    assert alone._average.share_of_all == 0.0
    assert np.all(mixed.coef_average_ != 0)
    assert "a ridge regression on all columns" in str(mixed.summary().dict["notes"])


def three_classes(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.argmax(X[:, :1] * [1.0, 0.0, -1.0] + rng.gumbel(size=(n, 3)), axis=1)
    return OutcomeKind("multinomial", 3), (X, y.astype(float), None, None)


def test_without_some_rows_a_subset_weighs_its_share_over_their_density():
    kind, (X, y, *_) = three_classes()
    folds, places = np.arange(60) % 5, [np.array([0]), np.array([1, 2]), np.array([], dtype=int)]
    weights = np.array([0.5, 0.3, 0.2])
    rows, signs = (X, y, None, None), np.zeros(4)
    fits = outcome_model._held_out(kind, rows, places, weights, 0.5, None, folds, signs)
    for fold, (mean, refit) in enumerate(fits):
        inside, left = folds != fold, folds == fold
        modes = list(outcome_model._modes(kind, (X[inside], y[inside], None, None), places, 0.5, signs))
        share = weights.copy()
        for i, mode in enumerate(modes):
            eta = (X[left] @ mode.coef + mode.own) @ class_contrasts(3).T
            told = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
            share[i] /= np.prod(told[np.arange(len(told)), y[left].astype(int)])
        share /= share.sum()
        expected = sum(s * mode.coef for s, mode in zip(share, modes, strict=True))
        np.testing.assert_allclose(mean.coef, expected, atol=1e-10)
        # the refit is that of the columns that weigh more than half without the fold
        often = [share[0], share[1], share[1], 0.0]
        np.testing.assert_array_equal(refit.coef.any(axis=1), np.array(often) > 0.5)
    # rows that belong together change no weights
    kept = outcome_model._held_out(kind, rows, places, weights, 0.5, np.array([0]), folds, signs)
    expected = sum(s * mode.coef for s, mode in zip(weights, modes, strict=True))
    np.testing.assert_allclose(kept[-1][0].coef, expected, atol=1e-10)


def test_subsets_of_a_wrong_sign_do_not_count_without_a_fold_either():
    kind, rows = three_classes()
    places, weights = [np.array([0]), np.array([1])], np.array([0.7, 0.3])
    modes = [None, next(outcome_model._modes(kind, rows, places[1:], 0.5, np.zeros(4)))]
    np.testing.assert_array_equal(outcome_model._share_without(kind, rows, modes, weights), [0.0, 1.0])
    np.testing.assert_array_equal(outcome_model._share_without(kind, rows, [None, None], weights), weights)
    nothing = outcome_model._blend(kind, rows, [None, None], weights)
    assert not nothing.coef.any()
    told = np.exp(class_contrasts(3) @ nothing.own)
    np.testing.assert_allclose(told / told.sum(), np.bincount(rows[1].astype(int)) / 60, atol=0.02)


def test_a_ridge_that_begins_at_the_last_one_is_the_same():
    kind, rows = three_classes()
    ridge = outcome_model._Ridge(kind, rows)
    for slab in (0.01, 0.1, 10.0):
        again = outcome_model._Ridge(kind, rows).under(slab)
        np.testing.assert_allclose(ridge.under(slab).coef, again.coef, atol=0.01)


def test_of_many_classes_too_all_columns_may_have_a_share():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 15))
    y = np.argmax(X @ rng.normal(0.0, 0.35, (15, 9)) + rng.gumbel(size=(400, 9)), axis=1)
    fit = REVS(random_state=0).fit(X, np.array(list("abcdefghi"))[y])
    assert fit._average.share_of_all > 0.2


def test_subsets_may_weigh_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((26, 16))
    y = np.zeros(26, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(26) < 0.8, np.exp(-1.5 * X[:, 0]) * rng.exponential(size=26)
    # a price that nothing pays: weights beside the empty set are zero, of which there is no logarithm
    assert not REVS(penalty=1e6, random_state=0).fit(X, y).support_.any()
