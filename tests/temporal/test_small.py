"""Small samples: draws against loops, exact linear leave-one-out, and levels of few subjects."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, chi2, chi2_contingency, ttest_1samp

from rlselect import TemporalProcessRegression
from rlselect.kernels import working_quantities
from rlselect.temporal._small import signs, webb


def fitted(data, response="v", link="identity", **options):
    return TemporalProcessRegression(f"{response} ~ x + z", link=link, **options).fit(data, id="id", time="t")


def solved(link, variance, x, y, w, offset):
    """Coefficients by Newton's steps from zero, no damping."""
    b = np.zeros(len(x))
    for _ in range(60):
        weight, score = working_quantities(link, variance, b @ x + offset, y, w)
        b = b + np.linalg.solve((x * weight) @ x.T, x @ score)
    return b


def naive_null(model, link, variance, tested, value):
    """At each time, of the curves that have the value: all that scores and standard errors are made of."""
    design = model._fitted.design
    free = [k for k in range(len(design.names)) if k not in tested]
    out = []
    for x, y, w, c in zip(design.x, design.y, design.w, value, strict=True):
        known = c @ x[tested]
        b = solved(link, variance, x[free], y, w, known)
        weight, score = working_quantities(link, variance, b @ x[free] + known, y, w)
        inner = np.linalg.inv((x[free] * weight) @ x[free].T)
        leverage = weight * np.einsum("ki,kl,li->i", x[free], inner, x[free])
        bread = np.linalg.inv((x * weight) @ x.T)
        pull = x.shape[1] * (bread @ x)[tested]
        # where the mean is bounded standard errors are those of the hypothesis, else those of the estimate
        x, bread = (x[free], inner) if link == "logit" else (x, bread)
        out.append((x, weight, score, leverage, bread, pull))
    return out


def naive_null_draws(parts, g):
    """The observed step from these curves, then drawn ones: (draws + 1, times, tested), and their influence
    functions (draws + 1, times, tested, subjects).
    """
    steps, influences = [], []
    for row in [None, *g]:
        step, influence = [], []
        for x, weight, score, leverage, bread, pull in parts:
            new = score if row is None else row * score / np.sqrt(1 - leverage)
            step.append((pull * new).mean(axis=1))
            influence.append(pull * (new - weight * (bread @ x @ new @ x)))
        steps.append(step)
        influences.append(influence)
    return np.array(steps), np.array(influences)


@pytest.mark.parametrize(
    ("link", "variance", "response"),
    [("identity", "gaussian", "v"), ("log", "poisson", "c"), ("logit", "binomial", "y")],
)
def test_tests_equal_loops(make_data, link, variance, response):
    model = fitted(make_data(n=40), response, link)
    n, draws = 40, 30
    value = (model.coef_["z"] + 1.5 * model.se_["z"] * np.array([1, -1, 0, 1, 0, 1.0])).to_numpy()
    parts = naive_null(model, link, variance, [2], value[:, None])
    mean, psi = (
        found[:, :, 0] for found in naive_null_draws(parts, signs(draws, n, np.random.default_rng(3)))
    )
    var = (psi**2).sum(axis=2) / n**2
    own = var
    if link == "logit":
        own = np.array([(pull[0] ** 2 * weight).sum() / n**2 for _, weight, *_, pull in parts])
    sups = (mean**2 / own).max(axis=1)
    result = model.test("z", value=value, kind="sds", n_draws=draws, random_state=3)
    assert result.statistic == pytest.approx(sups[0])
    assert result.pvalue == pytest.approx((1 + (sups[1:] >= sups[0]).sum()) / (draws + 1))
    ratio = (mean[:, :-1] ** 2).sum(axis=1) / var[:, :-1].sum(axis=1)
    result = model.test("z", value=value, kind="squared", n_draws=draws, random_state=3)
    assert result.statistic == pytest.approx((mean[0, :-1] ** 2).sum())
    assert result.pvalue == pytest.approx((1 + (ratio[1:] >= ratio[0]).sum()) / (draws + 1))


@pytest.mark.parametrize(
    ("link", "variance", "response"), [("identity", "gaussian", "v"), ("logit", "binomial", "y")]
)
def test_integrated_test_is_hotellings_of_the_scores(make_data, link, variance, response):
    model = fitted(make_data(n=30), response, link)
    for names, tested in (("x", [1]), (["x", "z"], [1, 2]), (["Intercept", "x", "z"], [0, 1, 2])):
        r = len(tested)
        parts = naive_null(model, link, variance, tested, np.full((6, r), 0.1))
        plain = sum(pull * score for *_, score, _, _, pull in parts[:-1])
        large = sum(pull * score / np.sqrt(1 - h) for *_, score, h, _, pull in parts[:-1])
        mean = plain.mean(axis=1)
        length = mean @ np.linalg.solve(large @ large.T / 900, mean)
        expected = length * 29 / (30 - length)
        result = model.test(names, value=0.1)
        assert result.statistic == pytest.approx(expected, rel=1e-8)
        assert result.denominator_df == 30 - r
        standard = np.linalg.solve(np.linalg.cholesky(large @ large.T), large)
        spread = 2 * r - 2 * ((standard**2).sum(axis=0) ** 2).sum()
        size = r * (30 - r) / spread - 1
        pvalue = beta.sf(length / 30, size * r / 30, size * (30 - r) / 30)
        assert result.pvalue == pytest.approx(pvalue, rel=1e-8)


def test_one_mean_is_students_test_with_the_moments_of_all_signs(make_data):
    data = make_data(n=12, missing=0.0)
    data = data[data["t"] == 2]
    model = TemporalProcessRegression("v ~ 1").fit(data, id="id", time="t")
    for value in (0.2, -1.0):
        found, student = model.test("Intercept", value=value), ttest_1samp(data["v"], value)
        assert found.statistic == pytest.approx(student.statistic**2)
        away = data["v"].to_numpy() - value
        signs = np.array(list(product([-1.0, 1.0], repeat=12)))
        shares = (signs @ away) ** 2 / (away @ away) / 12
        assert shares.mean() == pytest.approx(1 / 12)
        size = shares.mean() * (1 - shares.mean()) / shares.var() - 1
        own = away.sum() ** 2 / (away @ away) / 12
        assert found.pvalue == pytest.approx(beta.sf(own, size / 12, size * 11 / 12))
        assert found.pvalue == pytest.approx((shares >= own - 1e-12).mean(), abs=0.02)


def test_the_average_standard_error_is_that_of_left_out_subjects(make_data):
    """In a linear model the covariance is that of estimates without one subject after the other."""
    data = make_data(n=30)
    model = fitted(data)
    whole = model.coef_["x"].to_numpy()[:-1].mean()
    less = [fitted(data[data["id"] != who]).coef_["x"].to_numpy()[:-1].mean() for who in model.subjects_]
    assert model.test("x").se[0] == pytest.approx(np.sqrt(((whole - np.array(less)) ** 2).sum()), rel=1e-8)


def test_joint_supremum_uses_the_covariance_of_each_draw(make_data):
    model = fitted(make_data(n=40))
    g = signs(20, 40, np.random.default_rng(1))
    value = model.coef_[["x", "z"]].to_numpy() + 0.25
    draws = naive_null_draws(naive_null(model, "identity", "gaussian", [1, 2], value), g)
    walds = []
    for step, psi in zip(*draws, strict=True):
        each = [m @ np.linalg.solve(u @ u.T / 1600, m) for m, u in zip(step, psi, strict=True)]
        walds.append(max(each))
    result = model.test(["x", "z"], value=value, kind="sds", n_draws=20, random_state=1)
    above = (np.array(walds[1:]) >= walds[0]).sum()
    assert result.statistic == pytest.approx(walds[0])
    assert 0 < above < 20
    assert result.pvalue == pytest.approx((1 + above) / 21)


def test_the_supremum_of_a_linear_model_is_that_of_the_estimate(make_data):
    model = fitted(make_data(n=40))
    for name in ("x", ["x", "z"]):
        mine, plain = (
            model.test(name, value=0.3, kind="sds", n_draws=9, random_state=0, small_sample=small)
            for small in (True, False)
        )
        assert mine.statistic == pytest.approx(plain.statistic, rel=1e-8)


def test_few_units_have_more_than_signs():
    rng = np.random.default_rng(0)
    assert set(np.unique(signs(500, 12, rng))) == {-1.0, 1.0}
    assert len(np.unique(np.abs(signs(500, 11, rng)))) == 3


def test_a_constant_effect_is_judged_around_a_constant(make_data):
    model = fitted(make_data(n=40), "y", "logit")
    g = signs(40, 40, np.random.default_rng(5))
    precision = model.se_["x"].to_numpy() ** -2.0
    level = (precision * model.coef_["x"].to_numpy()).sum() / precision.sum()
    parts = naive_null(model, "logit", "binomial", [1], np.full((6, 1), level))
    mean, psi = (found[:, :, 0] for found in naive_null_draws(parts, g))
    step = np.array([0.5, 1, 1, 1, 1, 0.5]) / 5
    psi = psi - np.einsum("t,bti->bi", step, psi)[:, None]
    mean, var = mean - (mean @ step)[:, None], (psi**2).sum(axis=2)
    ratio = (mean**2 @ step) / (var @ step)
    result = model.test_constant("x", n_draws=40, random_state=5)
    assert result.pvalue == pytest.approx((1 + (ratio[1:] >= ratio[0]).sum()) / 41)
    # the supremum: standard errors of binary responses are those of their means, the same in all draws
    size = [np.sqrt((pull[0] ** 2 * weight).sum()) for _, weight, *_, pull in parts]
    own = np.array([pull[0] * score for _, _, score, *_, pull in parts])
    own = own * (np.array(size) / np.sqrt((own**2).sum(axis=1)))[:, None]
    sups = (mean**2 / ((own - step @ own) ** 2).sum(axis=1)).max(axis=1) * 1600
    result = model.test_constant("x", kind="sds", n_draws=40, random_state=5)
    assert result.statistic == pytest.approx(sups[0])
    assert result.pvalue == pytest.approx((1 + (sups[1:] >= sups[0]).sum()) / 41)


def test_the_supremum_of_binary_responses_is_raos_score_statistic():
    """One time, two arms: the largest chi-square statistic of a fourfold table."""
    y, arm = np.r_[np.ones(5), np.zeros(3), np.ones(4), np.zeros(12)], np.r_[np.ones(8), np.zeros(16)]
    model = TemporalProcessRegression(link="logit").fit(arm[:, None], y, id=np.arange(24), time=np.zeros(24))
    table = [[5, 3], [4, 12]]
    expected = chi2_contingency(table, correction=False).statistic
    found = model.test("x0", kind="sds", n_draws=2000, random_state=0)
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(chi2.sf(expected, 1), abs=0.05)


def test_constant_effects_are_drawn_from_their_influence_functions(make_data):
    model = fitted(make_data(n=40), constant=["z"])
    g = webb(25, 40, np.random.default_rng(2))
    psi = model.influence_.transpose(1, 2, 0)[:, 1]
    change = np.vstack([model.coef_["x"], np.einsum("bi,ti->bt", g, psi) / 40])
    left = np.concatenate([psi[None], g[:, None, :] * psi - change[1:, :, None]])
    sups = np.abs(change / (np.sqrt((left**2).sum(axis=2)) / 40)).max(axis=1)
    result = model.test("x", kind="sds", n_draws=25, random_state=2)
    assert result.statistic == pytest.approx(sups[0] ** 2)
    assert result.pvalue == pytest.approx((1 + (sups[1:] >= sups[0]).sum()) / 26)


def test_many_subjects_keep_the_plain_references(make_data):
    model = fitted(make_data(n=200), "y", "logit")
    for kind in ("ids", "sds", "squared"):
        mine, plain = (
            model.test("x", value=0.4, kind=kind, n_draws=99, random_state=0, small_sample=small)
            for small in (True, False)
        )
        assert (mine.statistic, mine.pvalue) == (plain.statistic, plain.pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("link", ["identity", "logit", "log"])
def test_levels_of_few_subjects(link):
    """Thirty subjects, 400 replicates: a binomial band around .03 to .07."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
    from temporal_common import curves, simulate

    truth = curves(8)
    truth[1] = 0.0
    rng, hits = np.random.default_rng(77), np.zeros(3)
    for _ in range(400):
        x, y, ids, times = simulate(rng, 30, 8, link, truth)
        model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
        hits += [
            model.test("x0", kind=kind, n_draws=199, random_state=rng).pvalue < 0.05
            for kind in ("ids", "sds", "squared")
        ]
    assert (hits / 400 < 0.1).all()
    assert (hits / 400 > 0.01).all()
