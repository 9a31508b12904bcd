import numpy as np
import pytest

from rlselect import TemporalProcessRegression


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x + z", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_smoothed_curves_and_errors_equal_a_loop(model):
    raw, times = model.coef_.to_numpy(), model.times_.astype(float)
    psi = model.influence_
    n = len(psi)
    for a in range(len(times)):
        k = np.maximum(1 - np.abs(times - times[a]) / 2.0, 0)
        k /= k.sum()
        np.testing.assert_allclose(model.smoothed_coef_.iloc[a], k @ raw, rtol=1e-12)
        smooth = np.einsum("t,itk->ik", k, psi)
        np.testing.assert_allclose(
            model.smoothed_se_.iloc[a], np.sqrt((smooth**2).sum(axis=0)) / n, rtol=1e-10
        )


@pytest.mark.parametrize("kernel", ["triangular", "epanechnikov", "gaussian"])
def test_kernels_differ_and_widths_matter(data, kernel):
    def curve(width, kernel=kernel):
        model = TemporalProcessRegression("v ~ x", bandwidth=width, kernel=kernel)
        return model.fit(data, id="id", time="t").smoothed_coef_["x"].to_numpy()

    raw = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t").coef_["x"].to_numpy()
    assert np.ptp(curve(1e6)) < 1e-5
    np.testing.assert_allclose(curve(1e-3), raw)
    others = {"triangular", "epanechnikov", "gaussian"} - {kernel}
    assert all(not np.allclose(curve(2.0), curve(2.0, other)) for other in others)


def test_cross_validation_smooths_noise_and_spares_signal(make_data):
    data = make_data(n=150, n_times=20)
    rng = np.random.default_rng(5)
    data["flat"] = 0.3 * data["x"] + rng.normal(size=len(data))
    data["wild"] = 3.0 * (-1.0) ** data["t"] * data["x"] + rng.normal(size=len(data))
    for rule in ("cv", "cv-times"):
        flat = TemporalProcessRegression("flat ~ x", bandwidth=rule).fit(data, id="id", time="t")
        assert flat.bandwidth_ >= 3
        path = flat.path_
        assert flat.stop_reason_ == "all candidates"
        assert len(path["bandwidth"]) == len(path["score"]) == 15
        assert flat.bandwidth_ == path["bandwidth"][np.argmin(path["score"])]
    wild = TemporalProcessRegression("wild ~ x", bandwidth="cv").fit(data, id="id", time="t")
    assert wild.bandwidth_ <= 1.2


def test_smoothed_needs_a_bandwidth(data):
    model = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t")
    assert not hasattr(model, "smoothed_coef_")
    with pytest.raises(ValueError, match="set bandwidth or n_splines"):
        model.bands(smoothed=True)
    for bad in (0, -1.0, np.nan, "auto", np.inf):
        with pytest.raises(ValueError, match=f"bandwidth={bad!r} was given; it must be None"):
            TemporalProcessRegression("v ~ x", bandwidth=bad).fit(data, id="id", time="t")
    two = data[data["t"] < 2]
    with pytest.raises(ValueError, match="at least 3 time points"):
        TemporalProcessRegression("v ~ x", bandwidth="cv").fit(two, id="id", time="t")


def test_refit_drops_old_smoothed_state(data):
    model = TemporalProcessRegression("v ~ x", bandwidth=2.0).fit(data, id="id", time="t")
    model.set_params(bandwidth=None).fit(data, id="id", time="t")
    assert not hasattr(model, "smoothed_coef_")
    assert not hasattr(model, "bandwidth_")
    assert [len(part) for part in model.path_.values()] == [0, 0]
    assert model.stop_reason_ == "nothing to choose from"


def test_a_kernel_without_a_bandwidth_is_refused(data):
    model = TemporalProcessRegression("v ~ x", kernel="gaussian")
    with pytest.raises(ValueError, match="kernel='gaussian' has no effect with bandwidth=None"):
        model.fit(data, id="id", time="t")
