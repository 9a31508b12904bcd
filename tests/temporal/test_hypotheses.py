"""The tests of curves against a second implementation written as loops from the definitions."""

import numpy as np
import pytest
from scipy.stats import chi2

from rlselect import TemporalProcessRegression

TIMES = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 7.0])


@pytest.fixture
def model(data):
    data = data.assign(t=TIMES[data["t"]])
    return TemporalProcessRegression("y ~ x + z + g", link="logit").fit(data, id="id", time="t")


def naive(model, c, value, kind, w=None, keep=None, integral="left", inflate=1.0):
    """Statistic, and what the multiplier draws need, by explicit loops over times and subjects."""
    times, beta = model.times_, model.coef_.to_numpy()
    psi, n = model.influence_, model.influence_.shape[0]
    keep = range(len(times)) if keep is None else keep
    c = np.asarray(c, dtype=float)
    m = [c @ beta[k] - value for k in keep]
    each = [np.array([c @ psi[i, k] for i in range(n)]) for k in keep]
    w = np.ones(len(times)) if w is None else w
    clock = [times[k] for k in keep]
    step = [0.0] * len(clock)
    for a in range(len(clock) - 1):
        gap = clock[a + 1] - clock[a]
        if integral == "left":
            step[a] += gap
        else:
            step[a] += gap / 2
            step[a + 1] += gap / 2
    if kind == "ids":
        total = sum(step[a] * w[k] * m[a] for a, k in enumerate(keep))
        sums = sum(step[a] * w[k] * each[a] for a, k in enumerate(keep))
        sigma = sum(np.outer(s, s) for s in sums) / n**2 * inflate
        return total @ np.linalg.inv(sigma) @ total
    if kind == "sds":
        walds = []
        for a, k in enumerate(keep):
            cov = sum(np.outer(s, s) for s in each[a]) / n**2 * inflate
            walds.append(w[k] * m[a] @ np.linalg.inv(cov) @ m[a])
        return max(walds)
    return sum(step[a] * w[k] * (m[a] @ m[a]) for a, k in enumerate(keep))


ONE = [[0, 1, 0, 0, 0]]
TWO = [[0, 0, 0, 1, 0], [0, 1, -1, 0, 0]]


@pytest.mark.parametrize("kind", ["ids", "sds", "squared"])
@pytest.mark.parametrize("c", [ONE, TWO])
@pytest.mark.parametrize("integral", ["left", "trapezoid"])
def test_statistics_equal_the_loops(model, kind, c, integral):
    options = {"n_draws": 50, "random_state": 0, "small_sample": False}
    result = model.test(c, value=0.3, kind=kind, integral=integral, **options)
    expected = naive(model, c, 0.3, kind, integral=integral)
    assert result.statistic == pytest.approx(expected, rel=1e-9)
    assert result.df == len(c)
    if kind == "ids":
        assert result.pvalue == pytest.approx(chi2.sf(expected, len(c)), rel=1e-6)


@pytest.mark.parametrize("kind", ["ids", "sds", "squared"])
def test_interval_weights_and_convention(model, kind):
    w = np.array([0.5, 1.0, 2.0, 0.0, 1.0, 3.0])
    n = len(model.subjects_)
    options = {"kind": kind, "n_draws": 50, "random_state": 0, "small_sample": False}
    inside = model.test("x", interval=(1, 4.5), time_weight=w, **options)
    assert inside.statistic == pytest.approx(naive(model, ONE, 0, kind, w, [1, 2, 3, 4]), rel=1e-9)
    assert list(inside.times) == [1.0, 2.5, 3.0, 4.5]
    other = model.test("x", convention="n-1", **options)
    assert other.statistic == pytest.approx(naive(model, ONE, 0, kind, inflate=n / (n - 1)), rel=1e-9)
    if kind != "squared":
        ratio = np.sqrt(other.statistic / model.test("x", **options).statistic)
        assert ratio == pytest.approx(np.sqrt((n - 1) / n), rel=1e-12)


def test_squared_convention_acts_on_the_reference(model):
    a = model.test("z", kind="squared", n_draws=4000, random_state=0)
    b = model.test("z", kind="squared", convention="n-1", n_draws=4000, random_state=0)
    assert a.statistic == b.statistic
    assert a.pvalue <= b.pvalue


def test_inverse_se_weights(model):
    se = model.se_["x"].to_numpy()
    result = model.test("x", time_weight="inverse-se", small_sample=False)
    assert result.statistic == pytest.approx(naive(model, ONE, 0, "ids", 1 / se), rel=1e-9)
    options = {"n_draws": 20, "random_state": 0, "small_sample": False}
    squared = model.test("x", kind="squared", time_weight="inverse-se", **options)
    assert squared.statistic == pytest.approx(naive(model, ONE, 0, "squared", 1 / se**2), rel=1e-9)
    assert result.statistic != model.test("x").statistic


@pytest.mark.parametrize("kind", ["sds", "squared"])
def test_resampled_pvalues_equal_the_loops(model, kind):
    n_draws, n = 300, len(model.subjects_)
    result = model.test("z", value=0.3, kind=kind, n_draws=n_draws, random_state=5, small_sample=False)
    psi = model.influence_[:, :, 2]
    z = np.random.default_rng(5).standard_normal((n_draws, n))
    exceed = 0
    for row in z:
        path = np.array([(row * psi[:, k]).sum() / n for k in range(len(TIMES))])
        if kind == "sds":
            draw = ((path / model.se_["z"].to_numpy()) ** 2).max()
        else:
            draw = (np.diff(TIMES) * path[:-1] ** 2).sum()
        exceed += draw >= result.statistic
    assert result.pvalue == pytest.approx((1 + exceed) / (n_draws + 1), abs=1e-12)
    assert 1 < exceed < n_draws - 1


def test_sds_and_band_agree(model):
    """The supremum test rejects exactly when the band of the same draws misses the value somewhere."""
    band = model.bands(n_draws=2000, random_state=3, small_sample=False)
    for name in model.coef_.columns:
        lowest = band[name]
        test = model.test(name, kind="sds", n_draws=2000, random_state=3, small_sample=False)
        outside = ((lowest["lower"] > 0) | (lowest["upper"] < 0)).any()
        if abs(test.pvalue - 0.05) > 0.02:
            assert outside == (test.pvalue < 0.05)
        assert outside == band.excludes()[name].any()


def test_contrasts_by_name_term_list_matrix_and_time(model):
    by_name = model.test("x").statistic
    assert model.test([0, 1, 0, 0, 0]).statistic == by_name
    assert model.test(np.tile(ONE, (6, 1, 1))).statistic == by_name
    assert model.test("g").df == 2
    assert model.test("g").statistic == pytest.approx(model.test(["g[T.b]", "g[T.c]"]).statistic)
    varying = np.zeros((6, 1, 5))
    varying[:3, 0, 1], varying[3:, 0, 2] = 1, 1
    result = model.test(varying)
    beta = np.concatenate([model.coef_["x"][:3], model.coef_["z"][3:]])
    assert result.estimate[0] == pytest.approx((np.diff(TIMES) * beta[:-1]).sum() / 7.0)


def test_values_constant_per_contrast_and_per_time(model):
    path = model.coef_["x"].to_numpy()
    assert model.test("x", value=path).statistic == pytest.approx(0, abs=1e-20)
    both = model.test(["x", "z"], value=model.coef_[["x", "z"]].to_numpy())
    assert both.statistic == pytest.approx(0, abs=1e-20)
    assert model.test(["x", "z"], value=[0.1, 0.2]).statistic > 0


def test_one_time_point_is_a_wald_test(model):
    z = model.coef_["x"].iloc[2] / model.se_["x"].iloc[2]
    assert model.test("x", interval=(2, 2.9), small_sample=False).statistic == pytest.approx(z**2, rel=1e-10)
    sds = model.test("x", kind="sds", interval=(2.5, 2.5), n_draws=9, small_sample=False)
    assert sds.statistic == pytest.approx(z**2)


def test_constant_effect_goodness_of_fit(make_data):
    data = make_data(n=400)
    model = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t")
    for kind in ("squared", "sds"):
        assert model.test_constant("x", kind=kind, random_state=0).pvalue < 0.01
        assert model.test_constant("z", kind=kind, random_state=0).pvalue > 0.05
    beta = model.coef_["x"].to_numpy()
    step = np.array([0.5, 1, 1, 1, 1, 0.5])
    expected = (step * (beta - (step * beta).sum() / 5) ** 2).sum()
    assert model.test_constant("x", n_draws=9).statistic == pytest.approx(expected)
    with pytest.raises(ValueError, match="'sds' or 'squared'"):
        model.test_constant("x", kind="ids")
    with pytest.raises(ValueError, match="two or more"):
        model.test_constant("x", interval=(1, 1))


def test_compare_nested_models(data):
    full = TemporalProcessRegression("v ~ x * z + g").fit(data, id="id", time="t")
    small = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t")
    result = full.compare(small)
    assert result.df == 3
    assert result.statistic == full.test(["g", "x:z"]).statistic
    with pytest.raises(ValueError, match="not nested"):
        small.compare(full)
    with pytest.raises(ValueError, match="same covariates"):
        full.compare(full)


def test_wrong_arguments(model):
    for bad, message in [
        ({"contrast": "age"}, "'age', which is not a covariate"),
        ({"contrast": np.eye(3)}, r"given shape \(3, 3\)"),
        ({"contrast": [[0, 1, 0, 0, 0], [0, 2, 0, 0, 0]]}, "linearly dependent"),
        ({"contrast": "x", "kind": "sum"}, "'ids', 'sds' or 'squared'"),
        ({"contrast": "x", "time_weight": "se"}, "inverse-se"),
        ({"contrast": "x", "time_weight": [1, 2]}, "one entry per time"),
        ({"contrast": "x", "time_weight": -np.ones(6)}, "not negative"),
        ({"contrast": "x", "time_weight": np.zeros(6)}, "no variance"),
        ({"contrast": "x", "interval": (20, 30)}, "no time lies in"),
        ({"contrast": "x", "convention": "n-2"}, "'n' or 'n-1'"),
        ({"contrast": "x", "integral": "right"}, "'left' or 'trapezoid'"),
        ({"contrast": "x", "value": [1, 2]}, "value must be"),
        ({"contrast": "x", "kind": "sds", "n_draws": 0}, "at least 1"),
        ({"contrast": [[0, np.nan, 0, 0, 0]]}, "missing or infinite"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.test(**bad)
