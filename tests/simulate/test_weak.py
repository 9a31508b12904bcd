import numpy as np
import pytest

from rlselect.simulate import make_weak


def test_levels():
    data = make_weak(10, 400, random_state=0)
    sizes = np.abs(data.coef[data.support])
    assert len(sizes) == 25
    assert set(sizes) == {0.05, 0.1, 0.2, 0.3}


def test_levels_are_drawn_evenly():
    data = make_weak(2, 5_000, n_nonzero=4_000, random_state=1)
    counts = np.unique(np.abs(data.coef[data.support]), return_counts=True)[1]
    assert np.abs(counts - 1_000).max() < 4 * np.sqrt(4_000 * 0.25 * 0.75)


def test_gap():
    data = make_weak(10, 400, design="gap", random_state=0)
    sizes, counts = np.unique(np.abs(data.coef[data.support]), return_counts=True)
    assert sizes.tolist() == [0.03, 0.3]
    assert counts.tolist() == [10, 15]


def test_own_sizes():
    levels = make_weak(10, 100, coefficients=[0.7], n_nonzero=9, random_state=0)
    assert np.abs(levels.coef[levels.support]).tolist() == [0.7] * 9
    gap = make_weak(10, 100, design="gap", coefficients=(2.0, 1.0), n_nonzero=10, random_state=0)
    assert np.sort(np.abs(gap.coef[gap.support])).tolist() == [1.0] * 4 + [2.0] * 6


@pytest.mark.parametrize("design", ["levels", "gap"])
def test_places_and_signs_are_random(design):
    draws = [make_weak(2, 100, design=design, random_state=seed) for seed in range(200)]
    frequency = np.mean([d.support for d in draws], axis=0)
    assert np.abs(frequency - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 200)
    positive = np.mean([(d.coef[d.support] > 0).mean() for d in draws])
    assert abs(positive - 0.5) < 4 * np.sqrt(0.25 / (200 * 25))
    # Strong and faint ones are mixed: the strong ones average the middle place, standard error below 1.
    strong = np.concatenate([np.flatnonzero(np.abs(d.coef) == 0.3) for d in draws])
    assert abs(strong.mean() - 49.5) < 4


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
def test_correlation(correlation):
    data = make_weak(20_000, 30, correlation=correlation, random_state=2)
    lag = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    assert np.abs(np.cov(data.X.T) - np.float64(correlation) ** lag).max() < 0.05


def test_response():
    data = make_weak(20_000, 60, noise_variance=0.5, random_state=3)
    assert np.var(data.y - data.X @ data.coef) == pytest.approx(0.5, abs=0.025)
    assert data.intercept == 0.0
    labels = make_weak(2_000, 60, family="binomial", random_state=3).y
    assert set(np.unique(labels)) == {0, 1}
    counts = make_weak(2_000, 60, family="poisson", random_state=3).y
    assert counts.dtype == np.int64
    assert counts.max() > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_seed_and_dtype(dtype):
    first = make_weak(50, 60, dtype=dtype, random_state=4)
    again = make_weak(50, 60, dtype=dtype, random_state=4)
    other = make_weak(50, 60, dtype=dtype, random_state=5)
    assert first.X.dtype == first.y.dtype == dtype
    assert first.X.flags.c_contiguous
    for name in ("X", "y", "coef", "support"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.coef, other.coef)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"p": 24}, r"p=24 was given with n_nonzero=25; give p of at least 25"),
        ({"design": "hole"}, r"design='hole' was given; choose one of 'levels', 'gap'"),
        ({"correlation": 1.0}, r"correlation=1.0 was given; it must lie strictly between -1 and 1"),
        ({"coefficients": ()}, r"coefficients=\(\) was given"),
        ({"coefficients": (0.1, -0.1)}, r"sizes above 0"),
        ({"design": "gap", "coefficients": (0.1, 0.2, 0.3)}, r"exactly two sizes"),
        ({"dtype": int}, r"choose np.float32 or np.float64"),
        ({"n_nonzero": 2.5}, r"n_nonzero=2.5 was given"),
    ],
)
def test_errors(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_weak(**{"n": 10, "p": 60, "random_state": 0, **kwargs})
