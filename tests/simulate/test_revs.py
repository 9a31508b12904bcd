import numpy as np
import pytest

from rlselect.simulate import Simulation, make_revs
from rlselect.simulate import _designs as designs

STRUCTURES = ("block", "banded", "sparse")
FAMILIES = ("gaussian", "binomial", "poisson")


def _largest_z(X, covariance):
    """Largest deviation of the sample covariance from the population one, in standard errors."""
    n = len(X)
    X = X.astype(np.float64)
    sample = X.T @ X / n
    variances = np.diag(covariance)
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    return np.abs((sample - covariance) / error).max()


# 1,830 entries of a covariance matrix: 5 standard errors are passed by chance once in a thousand seeds.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_covariance(dtype):
    data = make_revs(20_000, 60, structure="block", dtype=dtype, random_state=1)
    factor = np.kron(np.eye(10), np.ones((5, 5)))
    covariance = np.eye(60)
    covariance[:50, :50] += factor
    assert _largest_z(data.X, covariance) < 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_banded_covariance(dtype):
    data = make_revs(20_000, 60, structure="banded", dtype=dtype, random_state=2)
    lag = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    assert _largest_z(data.X, 0.8**lag) < 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_precision_and_covariance(dtype):
    p = 60
    design = designs.SparseDesign.draw(p, np.random.default_rng(3), dtype)
    covariance = design.covariance(np.arange(p))
    np.testing.assert_allclose(np.diag(covariance), 1.0, rtol=1e-4)
    # Undo the scaling to unit variances: two values off the diagonal, one on it, condition number p.
    precision = np.linalg.inv(covariance)
    scale = 1.0 / np.sqrt(np.diag(precision))
    shape = precision * np.outer(scale, scale)
    unit = np.unique(shape[~np.eye(p, dtype=bool)].round(4))
    assert len(unit) == 2
    assert unit[0] == 0.0
    assert np.linalg.cond(shape) == pytest.approx(p, rel=1e-3)
    share = np.mean(shape[np.triu_indices(p, 1)] > 1e-3)
    assert abs(share - 0.6) < 4 * np.sqrt(0.24 / (p * (p - 1) / 2))
    # The generator itself, from the same seed, has that covariance.
    data = make_revs(20_000, p, structure="sparse", dtype=dtype, random_state=3)
    assert _largest_z(data.X, covariance) < 5


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("family", "runs"), [("gaussian", 5), ("binomial", 3), ("poisson", 3)])
def test_true_columns_come_in_runs_of_five(structure, family, runs):
    data = make_revs(50, 80, structure=structure, family=family, random_state=0)
    assert isinstance(data, Simulation)
    sign = np.zeros(80)
    for k in range(runs):
        sign[10 * k : 10 * k + 5] = (-1) ** k
    np.testing.assert_array_equal(np.sign(data.coef), sign)
    np.testing.assert_array_equal(data.support, sign != 0)
    if family != "poisson":
        np.testing.assert_array_equal(data.coef, sign)
        assert data.intercept == 0.0


def test_number_of_non_zeros():
    data = make_revs(30, 40, n_nonzero=7, random_state=0)
    assert np.flatnonzero(data.support).tolist() == [0, 1, 2, 3, 4, 10, 11]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_signal_at_all(family):
    data = make_revs(4_000, 30, family=family, n_nonzero=0, random_state=5)
    assert not data.support.any()
    correlation = np.corrcoef(data.X.T, data.y)[-1, :-1]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(4_000)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gaussian_noise(structure):
    data = make_revs(20_000, 60, structure=structure, noise_variance=3.0, random_state=6)
    noise = data.y - data.X @ data.coef
    assert np.var(noise) == pytest.approx(3.0, abs=5 * 3.0 * np.sqrt(2 / 20_000))
    clean = make_revs(50, 60, structure=structure, noise_variance=0.0, random_state=6)
    np.testing.assert_allclose(clean.y, clean.X @ clean.coef, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_binomial_follows_its_probabilities(structure):
    data = make_revs(20_000, 40, structure=structure, family="binomial", random_state=7)
    assert data.y.dtype == np.int64
    assert set(np.unique(data.y)) == {0, 1}
    mu = 1.0 / (1.0 + np.exp(-data.X @ data.coef))
    assert abs(np.sum(data.y - mu)) < 4 * np.sqrt(np.sum(mu * (1 - mu)))
    score = data.X.T @ (data.y - mu) / np.sqrt((data.X**2).T @ (mu * (1 - mu)))
    assert np.abs(score).max() < 4.5


@pytest.mark.parametrize("structure", STRUCTURES)
def test_poisson_counts_are_moderate(structure):
    data = make_revs(20_000, 40, structure=structure, family="poisson", random_state=8)
    assert data.y.dtype == np.int64
    eta = data.X @ data.coef
    assert np.var(eta) == pytest.approx(1.0, abs=5 * np.sqrt(2 / 20_000))
    mu = np.exp(data.intercept + eta)
    score = data.X.T @ (data.y - mu) / np.sqrt((data.X**2).T @ mu)
    assert np.abs(score).max() < 4.5
    assert np.quantile(data.y, 0.99) < 50


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed_same_data(structure, family):
    kwargs = {"structure": structure, "family": family}
    first = make_revs(40, 60, random_state=9, **kwargs)
    again = make_revs(40, 60, random_state=np.random.default_rng(9), **kwargs)
    other = make_revs(40, 60, random_state=10, **kwargs)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert not np.array_equal(first.y, other.y)


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert not np.array_equal(make_revs(5, 60, random_state=rng).X, make_revs(5, 60, random_state=rng).X)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_length_of_a_row_block_does_not_matter(structure, monkeypatch):
    whole = make_revs(50, 60, structure=structure, random_state=11)
    monkeypatch.setattr(designs, "_BLOCK_ELEMENTS", 7 * 60)
    pieces = make_revs(50, 60, structure=structure, random_state=11)
    np.testing.assert_allclose(pieces.X, whole.X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pieces.y, whole.y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float32"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_dtype_and_order(structure, dtype):
    data = make_revs(30, 60, structure=structure, dtype=dtype, random_state=0)
    assert data.X.dtype == np.dtype(dtype)
    assert data.y.dtype == np.dtype(dtype)
    assert data.X.flags.c_contiguous
    assert data.coef.dtype == np.float64
    assert data.support.dtype == np.bool_


def test_fewer_columns_than_factors_reach():
    data = make_revs(20_000, 12, structure="block", n_nonzero=5, random_state=12)
    correlation = np.corrcoef(data.X.T)
    assert correlation[10, 11] == pytest.approx(0.5, abs=0.03)
    assert correlation[9, 10] == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("p", [1, 2])
def test_sparse_with_next_to_no_columns(p):
    data = make_revs(20_000, p, structure="sparse", n_nonzero=1, random_state=13)
    np.testing.assert_allclose(data.X.var(axis=0), 1.0, atol=0.05)


def test_result_cannot_be_changed():
    data = make_revs(5, 60, random_state=0)
    with pytest.raises(AttributeError):
        data.X = None


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"p": 44}, r"p=44 was given with 25 non-zero .* p of at least 45"),
        ({"p": 24, "family": "binomial"}, r"p=24 was given with 15 non-zero .* p of at least 25"),
        ({"p": 0}, r"p=0 was given"),
        ({"n": 0}, r"n=0 was given"),
        ({"n": 10.5}, r"n=10.5 was given"),
        ({"n": True}, r"n=True was given"),
        ({"n_nonzero": -1}, r"n_nonzero=-1 was given"),
        ({"structure": "blocks"}, r"structure='blocks' was given; choose one of 'block', 'banded', 'sparse'"),
        ({"family": "normal"}, r"family='normal' was given; choose one of 'gaussian'"),
        ({"noise_variance": -1.0}, r"noise_variance=-1.0 was given"),
        ({"noise_variance": np.nan}, r"noise_variance=nan was given"),
        ({"dtype": np.float16}, r"dtype=.*float16.* was given; choose np.float32 or np.float64"),
    ],
)
def test_errors(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_revs(**{"n": 10, "p": 60, "random_state": 0, **kwargs})


@pytest.mark.parametrize(("family", "p"), [("gaussian", 45), ("binomial", 25)])
def test_smallest_p(family, p):
    assert make_revs(10, p, family=family, random_state=0).support[p - 1]
