"""Penalised splines against dense algebra from the definitions."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect import TemporalProcessRegression
from rlselect.temporal._splines import fit_splines, spline_basis, spline_estimate


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, n_splines=6, **options).fit(data, id="id", time="t")


@pytest.fixture
def long(make_data):
    return make_data(n=80, n_times=12)


def dense(data, n_splines=6):
    """Rows x (covariates x splines), and the second-difference penalty."""
    basis = spline_basis(np.arange(12.0), n_splines)[data["t"]]
    columns = np.column_stack([np.ones(len(data)), data["x"], data["z"]])
    d = np.diff(np.eye(n_splines), 2, axis=0)
    return np.einsum("ik,ij->ikj", columns, basis).reshape(len(data), -1), d.T @ d


def test_splines_sum_to_one_and_hold_lines():
    clock = np.array([0.0, 0.3, 1.0, 2.0, 4.5, 7.0])
    basis = spline_basis(clock, 5)
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)
    fit = basis @ np.linalg.lstsq(basis, 3 * clock - 1, rcond=None)[0]
    np.testing.assert_allclose(fit, 3 * clock - 1, atol=1e-9)


def test_curves_solve_the_penalised_equations_and_penalties_are_a_fixed_point(long):
    model = fitted(long)
    z, penalty = dense(long)
    scale = model._fitted.splines
    units = np.sqrt([1.0, (long["x"] ** 2).mean(), (long["z"] ** 2).mean()])
    c = (scale.coef / units[:, None]).ravel()
    lam = model.penalties_.to_numpy() * units**2
    mu = expit(z @ c)
    whole = np.kron(np.diag(lam), penalty)
    np.testing.assert_allclose(z.T @ (long["y"] - mu), whole @ c, atol=1e-5)
    information = (z * (mu * (1 - mu))[:, None]).T @ z
    cov = np.linalg.inv(information + whole)
    edf = np.diag(cov @ information).reshape(3, 6).sum(axis=1)
    np.testing.assert_allclose(model.edf_, edf, rtol=1e-4)
    scores = np.array([z[long["id"] == i].T @ (long["y"] - mu)[long["id"] == i] for i in range(80)])
    found, claimed = cov @ (scores.T @ scores) @ cov, cov @ information @ cov
    for k in range(3):
        own = slice(6 * k, 6 * k + 6)
        spread = np.trace(penalty @ found[own, own]) / np.trace(penalty @ claimed[own, own])
        used = 4 - lam[k] * np.trace(cov[own, own] @ penalty)
        if edf[k] > 2.05:
            assert lam[k] == pytest.approx(spread * used / (c[own] @ penalty @ c[own]), rel=0.05)


def test_influence_is_the_change_by_a_subjects_weight(long):
    model = fitted(long)
    f = model._fitted
    more = np.ones(80)
    more[7] += 1e-4
    again, _ = spline_estimate(f.design.reweighted(more), f.equations, f.raw, f.splines, for_bands=True)
    plain, influence = spline_estimate(f.design, f.equations, f.raw, f.splines, for_bands=True)
    psi = influence.contrast(np.eye(3), np.arange(len(plain.beta)))
    jack, change = psi[:, :, 7] / 80, (again.beta - plain.beta) / 1e-4
    # leave-one-out influence is larger than the derivative by the subject's leverage, a few percent here
    np.testing.assert_allclose(change, jack, rtol=0.25, atol=0.15 * np.abs(jack).max())


def test_left_out_subject_is_exact_in_linear_models(long):
    model = fitted(long, "v ~ x + z", "identity")
    f = model._fitted
    whole, influence = spline_estimate(f.design, f.equations, f.raw, f.splines, for_bands=True)
    without = np.ones(80)
    without[3] = 0.0
    rest, _ = spline_estimate(f.design.reweighted(without), f.equations, f.raw, f.splines, for_bands=True)
    psi = influence.contrast(np.eye(3), np.arange(len(whole.beta)))
    np.testing.assert_allclose(psi[:, :, 3] / 80, whole.beta - rest.beta, atol=1e-6)


def test_lines_are_found_straight_and_waves_are_not(make_data):
    data = make_data(n=200, n_times=20)
    rng = np.random.default_rng(1)
    data["line"] = (1 + 0.1 * data["t"]) * data["x"] + rng.normal(size=len(data))
    data["wave"] = np.sin(data["t"] / 2) * data["x"] + rng.normal(size=len(data))
    edf = {}
    for response in ("line", "wave"):
        model = TemporalProcessRegression(f"{response} ~ x", n_splines=10).fit(data, id="id", time="t")
        edf[response] = model.edf_["x"]
        raw, smooth = (
            ((curve["x"] - truth) ** 2).mean()
            for truth in [1 + 0.1 * model.times_ if response == "line" else np.sin(model.times_ / 2)]
            for curve in (model.coef_, model.smoothed_coef_)
        )
        assert smooth < 0.7 * raw
    assert edf["line"] < 3 < edf["wave"]


def test_units_do_not_matter(long):
    plain = fitted(long, "v ~ x + z", "identity")
    scaled = fitted(long.assign(x=long["x"] * 1e6, v=long["v"] * 1e3), "v ~ x + z", "identity")
    np.testing.assert_allclose(scaled.smoothed_coef_["x"] * 1e3, plain.smoothed_coef_["x"], rtol=1e-4)
    np.testing.assert_allclose(scaled.edf_, plain.edf_, rtol=1e-3)


def test_bands_lie_around_splines_without_penalty(long):
    model = fitted(long)
    f = model._fitted
    free, _ = spline_estimate(f.design, f.equations, f.raw, f.splines, for_bands=True)
    band = model.bands(smoothed=True, random_state=0, n_draws=200)
    np.testing.assert_allclose((band.lower + band.upper) / 2, free.beta)
    np.testing.assert_allclose(band.estimate, model.smoothed_coef_)
    assert (band.upper > band.lower).all(axis=None)
    with pytest.raises(ValueError, match="bands of splines"):
        model.bands(smoothed=True, resample="refit")


def test_flagged_times_have_smoothed_values(long):
    long["y"] = long["y"].where(long["t"] != 4, 1)
    model = fitted(long)
    assert model.flags_[4] is not None
    assert model.coef_.loc[4].isna().all()
    assert np.isfinite(model.smoothed_coef_.to_numpy()).all()
    assert np.isfinite(model.bands(smoothed=True, random_state=0, n_draws=50).lower.to_numpy()).all()


def test_options_that_do_not_go_together(long):
    for options, message in [
        ({"bandwidth": 2.0}, "n_splines=6 has no effect with a bandwidth"),
        ({"constant": ["z"]}, "constant and n_splines"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted(long, **options)
    with pytest.raises(ValueError, match="at most the number of times, 12"):
        TemporalProcessRegression("v ~ x", n_splines=13).fit(long, id="id", time="t")
    model = fitted(long)
    f = model._fitted
    assert fit_splines(f.design, f.equations, f.raw, 6).coef.shape == (3, 6)


def test_profiles_of_splines_have_the_band_of_their_curve(long):
    model = fitted(long)
    found = model.compare_profiles({"x": 1.0, "z": 0.0}, {"x": 0.0, "z": 0.0}, smoothed=True, random_state=0)
    np.testing.assert_allclose(found["estimate"], model.smoothed_coef_["x"])
    band = model.bands(smoothed=True, random_state=0)["x"]
    middle = (found["lower"] + found["upper"]) / 2
    np.testing.assert_allclose(middle, (band["lower"] + band["upper"]) / 2)


def test_straight_lines_do_not_hang_on_rounding():
    """Penalties of straight lines grow to their limit and stay there, in whatever units."""
    from rlselect.simulate import make_adherence

    weekly = make_adherence(random_state=8).weekly
    shapes = []
    for unit in (1.0, 1 / 3):
        model = TemporalProcessRegression("svr ~ peginterferon + sex + ishak", link="logit", n_splines=10)
        model.fit(weekly.assign(ishak=weekly["ishak"] * unit), id="id", time="week")
        shapes.append(model.edf_)
    np.testing.assert_allclose(shapes[0], shapes[1], rtol=1e-4)
    assert shapes[0].min() == pytest.approx(2.0, abs=0.01)
