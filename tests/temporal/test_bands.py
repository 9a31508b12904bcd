import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning
from rlselect.temporal._resample import shrinkage, stretch, variance_df


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x + z", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_intervals_of_large_data_have_first_order_standard_errors(make_data, monkeypatch):
    model = TemporalProcessRegression("v ~ x + z").fit(make_data(n=200), id="id", time="t")
    careful = model.conf_int(0.9)
    monkeypatch.setattr("rlselect.temporal._curves._LARGE", 0)
    plain = TemporalProcessRegression("v ~ x + z").fit(make_data(n=200), id="id", time="t").conf_int(0.9)
    shares = model.influence_**2 / (model.influence_**2).sum(axis=0)
    reach = student.ppf(0.95, variance_df(np.moveaxis(shares, 0, -1))) * model.se_
    np.testing.assert_allclose(plain.lower, model.coef_ - reach)
    np.testing.assert_allclose(plain.upper, model.coef_ + reach)
    wider = (careful.upper - careful.lower) / (plain.upper - plain.lower)
    assert ((wider > 0.95) & (wider < 1.05)).all(axis=None)


def test_smoothed_intervals_lie_inside_their_bands_around_curves_smoothed_twice(model):
    """A narrower kernel takes from the raw curves; half of what it took from itself is given back."""

    def kernel(width):
        near = np.maximum(1 - np.abs(np.subtract.outer(range(6), range(6))) / width, 0.0)
        return near / near.sum(axis=1, keepdims=True)

    raw = model.coef_.to_numpy()
    first = kernel(1.4) @ raw
    expected = first + kernel(1.4) @ (raw - first)
    point, band = model.conf_int(smoothed=True), model.bands(smoothed=True, random_state=0)
    np.testing.assert_allclose((point.lower + point.upper) / 2, expected)
    np.testing.assert_allclose((band.lower + band.upper) / 2, expected)
    np.testing.assert_allclose(band.estimate, kernel(2.0) @ raw)
    assert (point.upper < band.upper).all(axis=None)
    theirs = model.bands(smoothed=True, method="dissertation", random_state=0)
    np.testing.assert_allclose((theirs.lower + theirs.upper) / 2, model.smoothed_coef_)


def naive_shrinkage(psi):
    """The share of independence in correlations between times, by loops over pairs of times and subjects."""
    n_times, n = psi.shape
    size = np.sqrt((psi**2).sum(axis=1))
    variance = square = 0.0
    for s in range(n_times):
        for t in range(n_times):
            if s != t:
                each = psi[s] * psi[t] / (size[s] * size[t])
                variance += n / (n - 1) * ((each - each.mean()) ** 2).sum()
                square += each.sum() ** 2
    return min(variance / square, 1.0)


@pytest.mark.parametrize(("link", "response"), [("identity", "v"), ("log", "c"), ("logit", "y")])
def test_a_band_is_the_interval_of_the_level_that_all_times_keep(make_data, link, response):
    model = TemporalProcessRegression(f"{response} ~ x + z", link=link)
    model.fit(make_data(n=40), id="id", time="t")
    band = model.bands(0.9, n_draws=200, random_state=5)
    for k, name in enumerate(model.coef_.columns):
        psi = model._fitted.careful_influence().contrast(np.eye(3)[[k]], np.arange(6))[:, 0]
        share = naive_shrinkage(psi)
        rng = np.random.default_rng(5)
        z, alone = rng.standard_normal((200, 40)), rng.standard_normal((200, 6))
        unit = psi / np.sqrt((psi**2).sum(axis=1, keepdims=True))
        sups = np.abs(np.sqrt(1 - share) * z @ unit.T + np.sqrt(share) * alone).max(axis=1)
        level = 2 * norm.cdf(np.quantile(sups, 0.9)) - 1
        point = model.conf_int(level)
        np.testing.assert_allclose(band.lower[name], point.lower[name], rtol=1e-8)
        np.testing.assert_allclose(band.upper[name], point.upper[name], rtol=1e-8)


def test_correlations_told_by_one_subject_are_not_believed():
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(5, 40)) * 1e-3
    unit[:, 7] = 1.0
    unit /= np.sqrt((unit**2).sum(axis=1, keepdims=True))
    assert shrinkage(unit) > 0.99
    many = rng.normal(size=(1, 5000)) + 0.1 * rng.normal(size=(5, 5000))
    assert shrinkage(many / np.sqrt((many**2).sum(axis=1, keepdims=True))) < 0.001
    assert shrinkage(np.ones((1, 3)) / np.sqrt(3)) == 1.0


def test_an_arm_of_one_subject_has_no_band(make_data):
    data = make_data(n=30, missing=0.0)
    data["arm"] = (data["id"] == 4).astype(float)
    model = TemporalProcessRegression("v ~ arm + x").fit(data, id="id", time="t")
    with pytest.warns(SmallSampleWarning, match="'arm' is the same for all but 1"):
        band = model.bands(random_state=0)
    assert np.isinf(band.upper["arm"]).all()
    assert np.isinf(band.lower["arm"]).all()
    assert np.isfinite(band.upper[["Intercept", "x"]]).all(axis=None)
    with pytest.warns(SmallSampleWarning):
        assert "arm" in model.summary()._repr_html_()


def test_critical_values_equal_a_loop(model):
    band = model.bands(n_draws=300, random_state=4, small_sample=False)
    n = len(model.subjects_)
    z = np.random.default_rng(4).standard_normal((300, n))
    psi, se = model.influence_, model.se_.to_numpy()
    sups = [np.abs(np.einsum("i,itk->tk", row, psi) / n / se).max(axis=0) for row in z]
    expected = np.quantile(sups, 0.95, axis=0)
    np.testing.assert_allclose(list(band.critical.values()), expected, rtol=1e-10)
    np.testing.assert_allclose(band.upper, model.coef_ + expected * model.se_, rtol=1e-10)


def test_bands_are_wider_than_intervals_and_ordered_by_level(model):
    narrow, wide = model.bands(0.8, random_state=0), model.bands(0.99, random_state=0)
    point = model.conf_int(0.8)
    assert (narrow.upper > point.upper).all(axis=None)
    assert (wide.upper > narrow.upper).all(axis=None)


def test_dissertation_uses_the_higher_quantile(model):
    ours = model.bands(0.975, random_state=0, small_sample=False)
    theirs = model.bands(0.95, method="dissertation", random_state=0)
    assert ours.critical == theirs.critical
    assert theirs.critical["x"] > model.bands(0.95, random_state=0, small_sample=False).critical["x"]


def test_small_sample_draws_have_the_tails_of_student(model):
    """One time point: the critical value is that of t with the df of the variance estimate."""
    psi = model.influence_[:, 2, 1]
    shares = psi**2 / (psi**2).sum()
    df = variance_df(shares)
    n = len(psi)
    kurtosis = n * (psi**4).sum() / (psi**2).sum() ** 2
    assert df == pytest.approx(2 * n / (kurtosis - 1))
    for level in (0.9, 0.95, 0.99, 0.999):
        z = norm.ppf(0.5 + level / 2)
        assert np.sqrt(stretch(z**2, df)) == pytest.approx(student.ppf(0.5 + level / 2, df), rel=0.005)
    gaussian = np.random.default_rng(0).normal(size=(2, 4000))
    lengths = (gaussian**2).sum(axis=0) / 4000
    assert variance_df(lengths * 2 / lengths.sum(), r=2) == pytest.approx(4000, rel=0.1)


@pytest.mark.parametrize(("link", "response"), [("identity", "v"), ("log", "c"), ("logit", "y")])
def test_bands_of_many_subjects_are_a_little_wider(make_data, link, response):
    model = TemporalProcessRegression(f"{response} ~ x", link=link).fit(make_data(n=160), id="id", time="t")
    width = {
        small: (band.upper - band.lower)["x"]
        for small in (True, False)
        for band in [model.bands(random_state=0, small_sample=small)]
    }
    ratio = width[True] / width[False]
    assert ((ratio > 0.98) & (ratio < 1.25)).all()


def test_jackknife_influence_is_the_change_without_a_subject(make_data):
    data = make_data(n=60, missing=0.1)
    # one subject far out: the plain influence function understates its weight
    data.loc[data["id"] == 7, "z"] = 6.0
    model = TemporalProcessRegression("v ~ z").fit(data, id="id", time="t")
    without = TemporalProcessRegression("v ~ z").fit(data[data["id"] != 7], id="id", time="t")
    change = (model.coef_ - without.coef_).to_numpy()
    place = list(model.subjects_).index(7)
    jack = model._fitted.leave_one_out(few=True).contrast(np.eye(2), np.arange(6))[:, :, place] / 60
    plain = model.influence_[place] / 60
    np.testing.assert_allclose(jack, change, rtol=1e-9, atol=1e-12)
    assert np.abs(plain - change).max() > 0.01


def test_same_seed_same_band(model):
    assert model.bands(random_state=7).critical == model.bands(random_state=7).critical
    assert model.bands(random_state=7).critical != model.bands(random_state=8).critical


def test_refitting_agrees_with_multipliers(make_data):
    data = make_data(n=300)
    model = TemporalProcessRegression("v ~ x", bandwidth=2.0).fit(data, id="id", time="t")
    for smoothed in (False, True):
        fast = model.bands(n_draws=4000, smoothed=smoothed, random_state=0).critical
        slow = model.bands(n_draws=300, resample="refit", smoothed=smoothed, random_state=0).critical
        for name in fast:
            assert slow[name] == pytest.approx(fast[name], rel=0.12)


def test_refitting_steps_over_separated_resamples(data):
    rare = data.assign(y=((data["id"] % 30 == 0) | (data["x"] > 2)).astype(int))
    model = TemporalProcessRegression("y ~ x", link="logit").fit(rare, id="id", time="t")
    with pytest.warns(FlaggedTimeWarning, match="resampled time points could not be estimated"):
        band = model.bands(resample="refit", n_draws=40, random_state=0)
    assert np.isfinite(list(band.critical.values())).all()


def test_wrong_arguments(model):
    for options, message in [
        ({"level": 1.0}, "between 0 and 1"),
        ({"method": "both"}, "'sup' or 'dissertation'"),
        ({"resample": "jackknife"}, "'multiplier' or 'refit'"),
        ({"n_draws": 0}, "at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.bands(**options)
    with pytest.raises(KeyError, match="'age' is not a covariate"):
        model.bands(random_state=0)["age"]


def test_band_covers_the_truth_about_as_often_as_it_says():
    """60 replicates against a binomial acceptance region; the committed table has 400."""
    rng = np.random.default_rng(11)
    n, n_times, hits = 150, 8, 0
    truth = np.sin(np.arange(n_times) / 2)
    ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    for _ in range(60):
        x = rng.normal(size=(n, n_times))
        y = truth * x + rng.normal(size=(n, 1)) + rng.normal(size=(n, n_times))
        model = TemporalProcessRegression().fit(x.reshape(-1, 1), y.ravel(), id=ids, time=times)
        lower, upper = model.bands(n_draws=400, random_state=rng)
        hits += ((lower["x0"] <= truth) & (truth <= upper["x0"])).all()
    # P(Bin(60, .95) <= 50) < .001
    assert hits > 50
