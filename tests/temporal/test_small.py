"""Small samples: draws against loops, exact linear leave-one-out, and levels of few subjects."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import f, t

from rlselect import TemporalProcessRegression
from rlselect.kernels import working_quantities
from rlselect.temporal import SmallSampleWarning
from rlselect.temporal._small import webb


def fitted(data, response="v", link="identity", **options):
    return TemporalProcessRegression(f"{response} ~ x + z", link=link, **options).fit(data, id="id", time="t")


def naive_draws(model, link, variance, g, power):
    """Changes (draws, times, p) and influence functions (draws, times, p, subjects) by loops."""
    design, beta = model._fitted.design, model.coef_.to_numpy()
    changes, influences = [], []
    for row in g:
        change, influence = [], []
        for x, y, w, b in zip(design.x, design.y, design.w, beta, strict=True):
            n = x.shape[1]
            weight, score = working_quantities(link, variance, b @ x, y, w)
            bread = np.linalg.inv((x * weight) @ x.T)
            leverage = np.array([weight[i] * x[:, i] @ bread @ x[:, i] for i in range(n)])
            new = row * score / (1 - leverage) ** power
            step = bread @ x @ new
            change.append(step)
            influence.append(n * bread @ (x * (new - weight * (step @ x))))
        changes.append(change)
        influences.append(influence)
    return np.array(changes), np.array(influences)


@pytest.mark.parametrize(
    ("link", "variance", "response"),
    [("identity", "gaussian", "v"), ("log", "poisson", "c"), ("logit", "binomial", "y")],
)
def test_bands_and_tests_equal_loops(make_data, link, variance, response):
    model = fitted(make_data(n=40), response, link)
    n, draws = 40, 30
    g = webb(draws, n, np.random.default_rng(3))
    bounded = link == "logit"
    change, psi = naive_draws(model, link, variance, g, 0.5 if bounded else 1.0)
    se = model.se_.to_numpy() if bounded else np.sqrt((psi**2).sum(axis=3)) / n
    sups = np.abs(change / se).max(axis=1)
    band = model.bands(n_draws=draws, random_state=3)
    np.testing.assert_allclose(list(band.critical.values()), np.quantile(sups, 0.95, axis=0), rtol=1e-8)
    value = model.coef_["z"] + 1.5 * model.se_["z"] * np.array([1, -1, 0, 1, 0, 1.0])
    result = model.test("z", value=value, kind="sds", n_draws=draws, random_state=3)
    assert result.statistic == pytest.approx(2.25)
    assert result.pvalue == pytest.approx((1 + (sups[:, 2] >= 1.5).sum()) / (draws + 1))
    change, psi = naive_draws(model, link, variance, g, 1.0)
    ratio = (change[:, :-1, 2] ** 2).sum(axis=1) / ((psi[:, :-1, 2] ** 2).sum(axis=(1, 2)) / n**2)
    gap = (value - model.coef_["z"]).to_numpy()[:-1]
    observed = (gap**2).sum() / (model.se_["z"].to_numpy()[:-1] ** 2).sum()
    result = model.test("z", value=value, kind="squared", n_draws=draws, random_state=3)
    assert result.pvalue == pytest.approx((1 + (ratio >= observed).sum()) / (draws + 1))


def test_integrated_test_is_hotellings_with_left_out_subjects(make_data):
    """In a linear model the covariance is that of estimates without one subject after the other."""
    data = make_data(n=30)
    model = fitted(data)
    whole, changes = model.coef_.to_numpy()[:-1].sum(axis=0), []
    for who in model.subjects_:
        less = fitted(data[data["id"] != who]).coef_.to_numpy()[:-1].sum(axis=0)
        changes.append(whole - less)
    cov = np.array(changes).T @ np.array(changes)
    one, both = model.test("x"), model.test(["x", "z"])
    assert one.statistic == pytest.approx(whole[1] ** 2 / cov[1, 1], rel=1e-8)
    assert one.pvalue == pytest.approx(2 * t.sf(np.sqrt(one.statistic), 29), rel=1e-8)
    statistic = whole[1:] @ np.linalg.solve(cov[1:, 1:], whole[1:])
    assert both.statistic == pytest.approx(statistic, rel=1e-8)
    assert both.pvalue == pytest.approx(f.sf(statistic * 28 / (2 * 29), 2, 28), rel=1e-8)
    assert both.pvalue > model.test(["x", "z"], small_sample=False).pvalue


def test_joint_supremum_uses_the_covariance_of_each_draw(make_data):
    model = fitted(make_data(n=40))
    g = webb(20, 40, np.random.default_rng(1))
    change, psi = naive_draws(model, "identity", "gaussian", g, 1.0)
    value = model.coef_[["x", "z"]].to_numpy() + 0.25
    result = model.test(["x", "z"], value=value, kind="sds", n_draws=20, random_state=1)
    above = 0
    for c, u in zip(change, psi, strict=True):
        walds = [c[k, 1:] @ np.linalg.solve(u[k, 1:] @ u[k, 1:].T / 1600, c[k, 1:]) for k in range(len(c))]
        above += max(walds) >= result.statistic
    assert 0 < above < 20
    assert result.pvalue == pytest.approx((1 + above) / 21)


def test_constant_effects_are_drawn_from_their_influence_functions(make_data):
    model = fitted(make_data(n=40), constant=["z"])
    g = webb(25, 40, np.random.default_rng(2))
    psi = model.influence_.transpose(1, 2, 0)
    change = np.einsum("bi,tki->btk", g, psi) / 40
    left = g[:, None, None, :] * psi - change[..., None]
    sups = np.abs(change / (np.sqrt((left**2).sum(axis=3)) / 40)).max(axis=1)
    band = model.bands(n_draws=25, random_state=2)
    np.testing.assert_allclose(list(band.critical.values()), np.quantile(sups, 0.95, axis=0), rtol=1e-8)


def test_many_subjects_keep_the_plain_references(make_data):
    model = fitted(make_data(n=200), "y", "logit")
    for kind in ("ids", "sds", "squared"):
        mine, plain = (
            model.test("x", value=0.4, kind=kind, n_draws=99, random_state=0, small_sample=small)
            for small in (True, False)
        )
        assert (mine.statistic, mine.pvalue) == (plain.statistic, plain.pvalue)


def test_too_few_subjects_are_said(make_data):
    model = fitted(make_data(n=9, missing=0))
    with pytest.warns(SmallSampleWarning, match="9 subjects at some time for 3 coefficients"):
        model.test("x")
    with pytest.warns(SmallSampleWarning, match="at least 7 subjects more"):
        model.bands(n_draws=9, random_state=0)
    model.test("x", small_sample=False)


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
