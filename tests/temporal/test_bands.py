import numpy as np
import pytest
from scipy.stats import norm

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x + z", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_pointwise_interval_of_large_data(make_data, monkeypatch):
    model = TemporalProcessRegression("v ~ x + z").fit(make_data(n=200), id="id", time="t")
    careful = model.conf_int(0.9)
    monkeypatch.setattr("rlselect.temporal._points._LARGE", 0)
    lower, upper = model.conf_int(0.9)
    reach = norm.ppf(0.95) * model.se_
    np.testing.assert_allclose(lower, model.coef_ - reach)
    np.testing.assert_allclose(upper, model.coef_ + reach)
    wider = (careful.upper - careful.lower) / (upper - lower)
    assert ((wider > 1) & (wider < 1.05)).all(axis=None)


def test_smoothed_intervals_lie_inside_their_bands_around_curves_smoothed_twice(model):
    """A kernel takes from the raw curves; half of what it took from itself is given back."""
    width = np.maximum(1 - np.abs(np.subtract.outer(range(6), range(6))) / 2.0, 0.0)
    kernel = width / width.sum(axis=1, keepdims=True)
    raw = model.coef_.to_numpy()
    expected = kernel @ raw + kernel @ (raw - kernel @ raw)
    point, band = model.conf_int(smoothed=True), model.bands(smoothed=True, random_state=0)
    np.testing.assert_allclose((point.lower + point.upper) / 2, expected)
    np.testing.assert_allclose((band.lower + band.upper) / 2, expected)
    np.testing.assert_allclose(band.estimate, kernel @ raw)
    assert (point.upper < band.upper).all(axis=None)
    theirs = model.bands(smoothed=True, method="dissertation", random_state=0)
    np.testing.assert_allclose((theirs.lower + theirs.upper) / 2, model.smoothed_coef_)


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
    from scipy.stats import t as student

    from rlselect.temporal._resample import stretch, variance_df

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


@pytest.mark.parametrize(
    ("link", "response", "wider"), [("identity", "v", True), ("log", "c", True), ("logit", "y", False)]
)
def test_small_sample_widens_where_tails_are_heavy(make_data, link, response, wider):
    data = make_data(n=160)
    model = TemporalProcessRegression(f"{response} ~ x", link=link).fit(data, id="id", time="t")
    plain = model.bands(random_state=0, small_sample=False).critical["x"]
    ours = model.bands(random_state=0).critical["x"]
    p_plain = model.test("x", value=0.3, kind="sds", random_state=0, small_sample=False).pvalue
    p_ours = model.test("x", value=0.3, kind="sds", random_state=0).pvalue
    if wider:
        assert plain < ours < 1.25 * plain
        assert p_plain <= p_ours
    else:
        assert (ours, p_ours) == (plain, p_plain)


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
