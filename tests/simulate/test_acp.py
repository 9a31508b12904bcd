import numpy as np
import pytest

from rlselect.simulate import make_acp
from rlselect.simulate._acp import FUNCTIONS


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("n", "p"), [(40, 8), (30, 120)])
def test_shape_truth_and_seed(function, n, p):
    data = make_acp(n, p, function=function, random_state=3)
    assert data.X.shape == (n, p)
    assert data.y.shape == (n,)
    assert data.support.tolist() == [j < 8 for j in range(p)]
    assert np.array_equal(data.coef != 0, data.support)
    again = make_acp(n, p, function=function, random_state=3)
    other = make_acp(n, p, function=function, random_state=4)
    assert np.array_equal(data.X, again.X)
    assert np.array_equal(data.y, again.y)
    assert not np.array_equal(data.X, other.X)


@pytest.mark.parametrize("number", range(1, 7))
def test_a_number_is_a_name(number):
    by_number = make_acp(20, 10, function=number, random_state=0)
    by_name = make_acp(20, 10, function=FUNCTIONS[number - 1], random_state=0)
    assert np.array_equal(by_number.y, by_name.y)


def test_without_noise_the_regressions_are_their_formula():
    linear = make_acp(50, 12, noise=0.0, random_state=0)
    assert np.allclose(linear.y, linear.X[:, :8].sum(axis=1))
    pairs = make_acp(50, 12, function="interaction", noise=0.0, random_state=0)
    x = pairs.X.T
    assert np.allclose(pairs.y, x[0] + x[1] * x[2] + x[3] + x[4] * x[5] + x[6] + x[7])


def test_the_network_is_positively_homogeneous():
    """A ReLU network without intercepts: doubling x doubles y. The weights are those of the seed."""
    small, large = (make_acp(5_000, 8, function="network", noise=s, random_state=1) for s in (0.0, 2.0))
    assert np.array_equal(small.X, large.X)
    assert abs(np.std(large.y - small.y) - 2.0) < 0.1
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5_000, 8))
    first, second = rng.standard_normal((32, 8)), rng.standard_normal(32)
    assert np.allclose(small.y, np.maximum(X @ first.T, 0) @ second)


def test_noise_and_correlation():
    data = make_acp(20_000, 20, function="correlated", random_state=2)
    lag = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    assert np.abs(np.cov(data.X.T) - 0.9**lag).max() < 0.05
    assert abs(np.std(data.y - data.X[:, :8].sum(axis=1)) - 0.5) < 0.01


def test_the_coin_follows_the_sum():
    data = make_acp(20_000, 8, function="logistic", random_state=0)
    probability = 1 / (1 + np.exp(-data.X.sum(axis=1)))
    assert set(data.y) == {0, 1}
    # The residual of a coin with these odds has mean 0 in every stretch of them.
    for low in np.arange(0, 1, 0.2):
        inside = (probability >= low) & (probability < low + 0.2)
        assert abs(np.mean(data.y[inside] - probability[inside])) < 4 * np.sqrt(0.25 / inside.sum())


def test_classes_differ_in_the_first_eight_columns_only():
    data = make_acp(20_000, 12, function="multiclass", random_state=0)
    assert set(data.y) == set(range(5))
    means = np.array([data.X[data.y == k].mean(axis=0) for k in range(5)])
    spread = means.max(axis=0) - means.min(axis=0)
    assert spread[:8].min() > 0.2 > spread[8:].max()
    # The rows come in no order of the classes.
    assert abs(np.corrcoef(np.arange(20_000), data.y)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": "cubic"}, r"function='cubic' .* 'multiclass', or 1 to 6"),
        ({"function": 7}, "function=7"),
        ({"function": True}, "function=True"),
        ({"p": 7}, "p=7 was given, but 8 columns matter"),
        ({"n": 0}, "n=0"),
        ({"noise": -1.0}, "noise=-1.0 was given"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ValueError, match=message):
        make_acp(**{"n": 20, "p": 10} | given)
