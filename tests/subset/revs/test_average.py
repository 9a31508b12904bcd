"""Predictions averaged over subsets: exact where all subsets are visited, and no worse than one refit."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from rlselect import REVS, load, save
from rlselect.simulate import make_revs
from rlselect.subset import SeparationWarning
from rlselect.subset.revs._left_out import LeftOutRows, Said
from rlselect.subset.revs.evidence import RowLikelihood, StandardRows


def few_columns(family, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    eta = 0.7 * X[:, 0] - 0.03 * X[:, 1]
    y = eta + rng.normal(size=n) if family == "gaussian" else (rng.random(n) < expit(2 * eta)).astype(int)
    return X, y


def test_the_average_over_all_subsets_is_the_posterior_mean():
    X, y = few_columns("gaussian")
    model = REVS(random_state=0, penalty=0.7).fit(X, y)
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
    n, slabs = len(y), np.geomspace(2 * np.log(4) / len(y), 4.0, 24)

    def solve(subset, slab):
        A = Z[:, list(subset)]
        M = A.T @ A + np.eye(len(subset)) / slab
        b = np.linalg.solve(M, A.T @ t)
        evidence = -0.5 * (n - 1) * np.log(t @ t - t @ A @ b) - 0.5 * np.linalg.slogdet(slab * M)[1]
        return evidence, b

    every = [s for k in range(5) for s in combinations(range(4), k)]
    # the walk's own prior: that of the best subset, found by going back and forth
    slab = 0.1
    for _ in range(10):
        best = max(every, key=lambda s: solve(s, slab)[0] - 0.7 * len(s))
        slab = max(slabs, key=lambda g: solve(best, g)[0])
    weight = np.array([solve(s, slab)[0] - 0.7 * len(s) for s in every])
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = np.zeros(4)
    for s, share in zip(every, weight, strict=True):
        if s:
            mean[list(s)] += share * max((solve(s, g) for g in slabs), key=lambda found: found[0])[1]
    # what left-out rows give to the ridge of all columns
    whole = max((solve(range(4), g) for g in np.geomspace(0.1 / n, 4.0, 10)), key=lambda found: found[0])[1]
    share = model._average.share_of_all
    assert 0.0 < share < 0.5
    mean += share * (whole - mean)
    np.testing.assert_allclose(model.coef_average_, mean / X.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(
        model.intercept_average_, y.mean() - X.mean(axis=0) @ model.coef_average_, rtol=1e-6
    )
    np.testing.assert_allclose(
        model.predict(X, average=True), X @ model.coef_average_ + model.intercept_average_
    )
    np.testing.assert_allclose(model.predict(X, average=False), X @ model.coef_ + model.intercept_)
    assert model._average.n_subsets == 16


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_auto_is_what_left_out_rows_say(family):
    X, y = few_columns(family)
    model = REVS(random_state=0).fit(X, y)
    method = model.predict if family == "gaussian" else model.decision_function
    np.testing.assert_array_equal(method(X), method(X, average=model.average_))
    assert not np.allclose(method(X), method(X, average=not model.average_))
    model.average_ = not model.average_
    np.testing.assert_array_equal(method(X), method(X, average=model.average_))
    if family == "binomial":
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(method(X)))
        np.testing.assert_array_equal(model.predict(X), (method(X) > 0).astype(int))


def test_probabilities_are_means_over_what_the_log_odds_may_be():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (rng.random(60) < expit(2.0 * X[:, 0] - 1.5 * X[:, 1])).astype(int)
    model = REVS(random_state=0).fit(X, y)
    average = model._average
    away = X[:, average.columns] - average.centre
    covariance = average.moments.toarray() - np.multiply.outer(average.coef, average.coef)
    spread = np.sqrt(2.0 * np.einsum("ij,jk,ik->i", away, covariance, away))
    eta = X @ model.coef_average_ + model.intercept_average_
    nodes, weights = np.polynomial.hermite.hermgauss(40)
    mean = expit(eta[:, None] + spread[:, None] * nodes) @ weights / np.sqrt(np.pi)
    found = model.predict_proba(X, average=True)[:, 1]
    np.testing.assert_allclose(found, mean, atol=0.01)
    assert np.abs(expit(eta) - mean).max() > 0.03
    np.testing.assert_allclose(
        model.decision_function(X, offset=-eta, average=True), np.zeros(len(y)), atol=1e-12
    )


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_units_of_the_columns_do_not_matter(family):
    X, y = few_columns(family)
    model = REVS(random_state=0).fit(X, y)
    method = "predict" if family == "gaussian" else "predict_proba"
    unit = np.array([1e-4, 3.0, 250.0, 1.0])
    other = REVS(random_state=0).fit(X * unit + [5.0, 0.0, -2.0, 0.0], y)
    np.testing.assert_allclose(other.inclusion_, model.inclusion_, atol=1e-9)
    for average in (False, True):
        ours = getattr(model, method)(X, average=average)
        theirs = getattr(other, method)(X * unit + [5.0, 0.0, -2.0, 0.0], average=average)
        np.testing.assert_allclose(theirs, ours, atol=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_left_out_losses_are_those_of_fits_without_the_row(family, monkeypatch):
    # every subset is visited, so that a fit without a row may say what the reweighted subsets do; the share
    # of all columns is one number for all rows
    monkeypatch.setattr(LeftOutRows, "share_of", lambda self, other, average, even: 0.4)
    X, y = few_columns(family, n=40, seed=2)
    model = REVS(random_state=0).fit(X, y)
    loss = refit_loss = 0.0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        alone = REVS(random_state=0).fit(X[keep], y[keep])
        for average in (True, False):
            if family == "gaussian":
                one = float((alone.predict(X[[i]], average=average) - y[i])[0] ** 2)
            else:
                one = -float(np.log(alone.predict_proba(X[[i]], average=average)[0, y[i]]))
            loss, refit_loss = (loss + one, refit_loss) if average else (loss, refit_loss + one)
    assert model._average.loss == pytest.approx(loss / len(y), rel=0.05)
    assert model._average.refit_loss == pytest.approx(refit_loss / len(y), rel=0.1)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_many_small_effects_are_for_the_ridge_of_all_columns(family):
    rng = np.random.default_rng(22)
    X = rng.normal(size=(600, 25))
    eta = X @ (0.17 * rng.choice([-1.0, 1.0], size=25))
    draw = {
        "gaussian": lambda: eta + 1.5 * rng.normal(size=600),
        "binomial": lambda: (rng.random(600) < expit(eta)).astype(int),
        "poisson": lambda: rng.poisson(np.exp(0.7 * eta - 0.5)),
    }
    y = draw[family]()
    model = REVS(family=family, random_state=0).fit(X[:120], y[:120])
    average = model._average
    assert average.share_of_all > 0.3
    assert (model.coef_average_ != 0).all()
    assert not model.support_.all()
    assert "ridge regression on all columns" in " ".join(str(model.summary()).replace(">", "").split())
    truth = {"gaussian": eta, "binomial": eta, "poisson": 0.7 * eta - 0.5}[family][120:]
    mean = X[120:] @ model.coef_average_ + model.intercept_average_
    alone = X[120:] @ model.coef_ + model.intercept_
    assert np.mean((mean - truth) ** 2) < 0.9 * np.mean((alone - truth) ** 2)


def test_uneven_noise_leaves_the_ridge_its_share_of_what_is_not_linear():
    # the noise grows with a response that bends: rows of little noise say nothing of the others
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1600, 12))
    level = np.exp(X @ np.full(12, 0.15))
    y = level * (1.0 + 0.3 * rng.normal(size=1600))
    model = REVS(random_state=0).fit(X[:800], y[:800])
    assert model.noise_["unevenness"] > 0.5
    assert model._average.share_of_all > 0.5
    errors = [np.mean((model.predict(X[800:], average=how) - level[800:]) ** 2) for how in ("auto", False)]
    assert errors[0] < 0.9 * errors[1]


def test_uneven_noise_of_a_linear_response_is_no_reason_for_the_ridge():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 40))
    y = X[:, :4] @ np.full(4, 0.6) + np.exp(1.5 * X[:, 0]) * rng.normal(size=200)
    model = REVS(random_state=0).fit(X, y)
    assert model.noise_["unevenness"] > 0.5
    assert model._average.share_of_all == 0.0


def test_few_large_effects_leave_the_other_columns_alone():
    data = make_revs(n=200, p=30, structure="block", n_nonzero=2, random_state=1)
    model = REVS(random_state=0).fit(data.X, data.y)
    assert model._average.share_of_all == 0.0
    assert "ridge of all columns" not in str(model.summary())


@pytest.mark.parametrize("p", [8, 40])
def test_large_effects_do_not_hide_small_ones(p):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, p))
    y = X[:, :4] @ [100.0, -30.0, 3.0, -1.0] + rng.normal(size=600)
    selector = REVS(random_state=0).fit(X[:200], y[:200])
    # z of the smallest is 14; a prior too narrow for the largest takes more off that than the smallest is
    assert np.flatnonzero(selector.support_).tolist() == [0, 1, 2, 3]
    low, high = selector.predict_interval(X[200:], level=0.8).T
    assert 0.72 < np.mean((low < y[200:]) & (y[200:] < high)) < 0.88
    assert np.mean(high - low) == pytest.approx(2 * 1.282, rel=0.15)


def test_a_weight_is_a_repeated_row():
    X, y = few_columns("gaussian")
    times = np.arange(len(y)) % 3
    weighted = REVS(random_state=0).fit(X, y, sample_weight=times)
    repeated = REVS(random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_average_, repeated.coef_average_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict_interval(X), repeated.predict_interval(X), rtol=1e-6)
    assert weighted._average.loss == pytest.approx(repeated._average.loss)
    assert weighted._average.doubt == pytest.approx(repeated._average.doubt)


def test_text_groups_and_offsets(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    n = 120
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    frame["city"] = rng.choice(["Lyon", "Oslo", "Rome"], size=n)
    known = rng.normal(size=n)
    y = frame["a"] + 2.0 * (frame["city"] == "Rome") + known + rng.normal(size=n)
    model = REVS(random_state=0, feature_groups=[["b", "c"]]).fit(frame, y, offset=known)
    design = np.column_stack([frame[list("abcde")], frame["city"] == "Oslo", frame["city"] == "Rome"]).astype(
        float
    )
    expected = design @ model.coef_average_ + model.intercept_average_ + known
    np.testing.assert_allclose(model.predict(frame, known, average=True), expected)
    ends = model.predict_interval(frame, known, level=0.5)
    np.testing.assert_allclose(ends.mean(axis=1), expected)
    assert 0.35 < np.mean((ends[:, 0] < y) & (y < ends[:, 1])) < 0.65
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(frame, known), model.predict(frame, known))
    np.testing.assert_array_equal(again.predict_interval(frame, known), model.predict_interval(frame, known))


def test_intervals_of_one_subset_are_the_textbook_ones():
    rng = np.random.default_rng(4)
    X = rng.normal(loc=[5.0, 0.0, -2.0], size=(6000, 3))
    y = X[:, 0] - X[:, 2] + 2.0 * rng.normal(size=6000)
    model = REVS(random_state=0).fit(X, y)
    assert not model.average_
    np.testing.assert_array_equal(model.coef_average_, model.coef_)
    A = np.column_stack([np.ones(6000), X[:, [0, 2]]])
    coef = np.linalg.lstsq(A, y, rcond=None)[0]
    noise = ((y - A @ coef) ** 2).sum() / (6000 - 3)
    new = rng.normal(size=(50, 3)) * 100.0
    B = np.column_stack([np.ones(50), new[:, [0, 2]]])
    error = np.sqrt(noise * (1.0 + np.einsum("ij,jk,ik->i", B, np.linalg.inv(A.T @ A), B)))
    np.testing.assert_allclose(np.diff(model.predict_interval(new))[:, 0], 2 * 1.9603 * error, rtol=1e-3)


@pytest.mark.parametrize(
    ("response", "refit"), [(lambda X: np.full(60, 3.0), None), (lambda X: 2.0 * X[:, 0], True)]
)
def test_no_noise_at_all(response, refit):
    X, _ = few_columns("gaussian")
    model = REVS(random_state=0, family="gaussian").fit(X, response(X))
    for average in (True, False):
        np.testing.assert_allclose(model.predict(X, average=average), response(X), atol=0.05)
    assert np.isfinite(model.predict_interval(X)).all()
    if refit:
        # a ridge cannot follow: left-out rows see it
        assert not model.average_
        np.testing.assert_allclose(model.predict(X), response(X))


@pytest.mark.parametrize("kind", ["uneven", "heavy"])
def test_intervals_are_for_responses_as_they_are(kind):
    # the search evens the noise out and shortens its tails; new responses are not so kind
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1400, 8))
    noise = (
        np.exp(0.7 * X[:, 2]) * rng.normal(size=1400) if kind == "uneven" else rng.standard_t(3, size=1400)
    )
    y = X[:, 0] + 0.5 * X[:, 1] + noise
    model = REVS(random_state=0).fit(X[:400], y[:400])
    low, high = model.predict_interval(X[400:]).T
    assert 0.88 < np.mean((low < y[400:]) & (y[400:] < high)) < 0.98


def test_counts_that_vary_more_than_poisson():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    eta = 1 + 0.5 * X[:, 0] - 0.4 * X[:, 3]
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + np.exp(eta)))
    model = REVS(family="poisson", random_state=0).fit(X[:200], y[:200])
    assert model.family_ == "negative_binomial"
    assert model._average.n_subsets > 1
    errors = [np.mean((np.log(model.predict(X, average=a)) - eta) ** 2) for a in (True, False)]
    assert 0.0 < abs(errors[0] - errors[1]) < max(errors) < 0.05


def test_a_constant_response_of_many_columns():
    X = np.random.default_rng(0).normal(size=(30, 20))
    model = REVS(random_state=0, family="gaussian").fit(X, np.ones(30))
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict_interval(X), 1.0)


def test_messages():
    X, y = few_columns("binomial")
    model = REVS(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="average='yes' was given; it must be 'auto' or True or False"):
        model.predict(X, average="yes")
    with pytest.raises(ValueError, match="predict_interval is for family='gaussian', and this is 'binomial'"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="level=95 was given; it must be a number between 0 and 1"):
        model.predict_interval(X, level=95)


@pytest.mark.slow
def test_the_average_predicts_better_and_its_intervals_hold():
    gains, covered = [], []
    for seed in range(2000, 2020):
        data = make_revs(n=260, p=200, structure="block", random_state=seed)
        # as much noise as signal, so that no subset stands out
        noise = np.random.default_rng(seed).normal(size=260) * (data.X @ data.coef).std()
        y = data.X @ data.coef + noise
        model = REVS(random_state=seed).fit(data.X[:60], y[:60])
        X, y = data.X[60:], y[60:]
        errors = [np.mean((model.predict(X, average=a) - y) ** 2) for a in (False, True)]
        gains.append(errors[0] - errors[1])
        low, high = model.predict_interval(X).T
        covered.append(np.mean((low < y) & (y < high)))
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(20)
    assert 0.92 < np.mean(covered) < 0.98


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_cluster_leaves_no_row_to_judge_by(form):
    # left out whole, all rows are told by nothing: in any form of the table the average is kept
    X = np.array([[0.17, 0, -3.57, 1], [0.68, 2, -18.45, 0], [0.86, 2, -7.25, 0], [-1.47, 2, 4.47, 0]])
    for seed in range(6):
        y = np.random.default_rng(seed).standard_normal(4)
        assert REVS(random_state=0).fit(form(X), y, groups=np.zeros(4)).average_


def test_predictions_of_two_classes_do_not_rest_on_the_subsets_of_the_selection_alone():
    # many small effects that no rows tell apart: the heaviest subsets are those that chance favours
    rng = np.random.default_rng(9)
    X = rng.normal(size=(1080, 20))
    eta = X @ (0.35 * rng.normal(size=20))
    y = (rng.random(1080) < expit(eta)).astype(int)
    model = REVS(random_state=0).fit(X[:80], y[:80])
    average = model._average
    assert average.share_of_all > 0.3
    means = [model.predict_proba(X[80:], average=how)[:, 1] for how in ("auto", False)]
    losses = [-np.log(np.where(y[80:] == 1, mean, 1.0 - mean)).mean() for mean in means]
    # it is no worse on other rows than left-out ones say
    assert losses[0] < average.loss + 0.05
    assert losses[0] < losses[1]


def said_of(y, size, doubt):
    one = np.ones(len(y))
    rows = StandardRows(np.zeros((len(y), 0)), y, one, np.zeros(len(y)), one)
    left_out = LeftOutRows(RowLikelihood("binomial"), rows, np.ones((1, len(y))))
    return left_out, Said(size * (2.0 * y - 1.0), np.full(len(y), doubt))


def test_a_refit_without_a_row_has_what_is_above_the_cut():
    rng = np.random.default_rng(3)
    Z, y, one = rng.normal(size=(20, 1)), rng.normal(size=20), np.ones(20)
    rows = StandardRows(Z, y, one, np.zeros(20), one)
    left_out = LeftOutRows(RowLikelihood("gaussian"), rows, np.multiply.outer([0.6, 0.4], one))
    places = [np.array([0]), np.array([], dtype=np.intp)]
    means = (y.sum() - y) / 19.0
    np.testing.assert_allclose(left_out.said_by_refit(places, 0.75), means)
    others = ~np.eye(20, dtype=bool)
    lines = [np.polyval(np.polyfit(Z[keep, 0], y[keep], 1), Z[i, 0]) for i, keep in enumerate(others)]
    np.testing.assert_allclose(left_out.said_by_refit(places, 0.5), lines)


def test_variance_of_log_odds_that_left_out_rows_do_not_bear_out_does_not_count():
    y = np.resize([0.0, 1.0], 200)
    sure, said = said_of(y, 4.0, 30.0)
    # all rows are told well without their own say: as little of the variance stays as may
    assert sure.trust_in(said) == pytest.approx(0.25, abs=0.05)
    # one in three is told wrongly, and log odds of four are too large
    y = np.where(np.arange(200) % 3, y, 1.0 - y)
    wrong, _ = said_of(y, 4.0, 30.0)
    assert wrong.trust_in(said) == 1.0
    assert sure._replace(likelihood=RowLikelihood("gaussian")).trust_in(said) == 1.0


@pytest.mark.filterwarnings("ignore::rlselect.subset.SeparationWarning")
def test_separable_classes_are_told_apart_without_the_caution_of_their_curvature():
    rng = np.random.default_rng(6)
    y = rng.integers(2, size=700)
    X = rng.normal(size=(700, 6)) + np.multiply.outer(2.0 * y - 1.0, [2.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    model = REVS(random_state=0).fit(X[:100], y[:100])
    average = model._average
    assert average.trust < 1.0
    away = X[100:][:, average.columns]
    doubt = average.doubt_of(away)
    np.testing.assert_allclose(
        average.caution(away), 1.0 / np.sqrt(1.0 + np.pi / 8.0 * average.trust * doubt)
    )
    found = model.predict_proba(X[100:], average=True)[:, 1]
    eta = away @ average.coef + average.intercept
    cautious = expit(eta / np.sqrt(1.0 + np.pi / 8.0 * doubt))
    losses = [-np.log(np.where(y[100:] == 1, mean, 1.0 - mean)).mean() for mean in (found, cautious)]
    assert losses[0] < 0.9 * losses[1]


def test_a_refit_that_tells_all_rows_is_no_reason_to_leave_the_average():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 9)) + np.multiply.outer(2.0 * y - 1.0, np.resize([1.6, 0.0, 0.0], 9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = REVS(random_state=0).fit(X, y)
    assert model.average_
    # a row told wrongly that has not come yet
    assert model._average.doubt > np.abs(model.decision_function(X, average=False)).mean() / 70
