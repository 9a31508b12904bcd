import numpy as np
import pytest

from rlselect.subset.rivals._association import (
    cut_column,
    pearson_associations,
    symmetrical_uncertainty,
    uncertainty_associations,
)


def entropy(codes):
    share = np.unique(codes, return_counts=True)[1] / len(codes)
    return -(share * np.log2(share)).sum()


def naive_cuts(values, codes):
    """Fayyad and Irani's recursion by its definition."""
    cuts = []

    def split(rows):
        v, c = values[rows], codes[rows]
        best = None
        for edge in np.unique(v)[1:]:
            left, right = c[v < edge], c[v >= edge]
            mixed = (len(left) * entropy(left) + len(right) * entropy(right)) / len(c)
            if best is None or mixed < best[0] - 1e-15:
                best = (mixed, edge, left, right)
        if best is None:
            return
        mixed, edge, left, right = best
        kinds = [len(np.unique(part)) for part in (c, left, right)]
        delta = np.log2(3.0 ** kinds[0] - 2) - (
            kinds[0] * entropy(c) - kinds[1] * entropy(left) - kinds[2] * entropy(right)
        )
        if entropy(c) - mixed > (np.log2(len(c) - 1) + delta) / len(c):
            cuts.append(edge)
            split(rows[v < edge])
            split(rows[v >= edge])

    split(np.arange(len(values)))
    return np.searchsorted(np.sort(cuts), values, side="right")


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_those_of_the_criterion(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=120), 1)
    codes = (values > 0.3).astype(int) + (values > 1.0) * (rng.random(120) < 0.9)
    found = cut_column(values, codes)
    np.testing.assert_array_equal(found, naive_cuts(values, codes))
    assert found.max() >= 1


def test_symmetrical_uncertainty_is_that_of_the_entropies():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    b = np.where(rng.random(200) < 0.6, a, rng.integers(0, 4, 200))
    joint = entropy(a * 10 + b)
    expected = 2 * (entropy(a) + entropy(b) - joint) / (entropy(a) + entropy(b))
    assert symmetrical_uncertainty(a, b) == pytest.approx(expected)
    assert symmetrical_uncertainty(np.zeros(5, dtype=int), np.zeros(5, dtype=int)) == 0.0


def test_a_feature_of_several_columns_counts_as_one():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, 1] + rng.standard_normal(100)
    known = pearson_associations(X, y, [np.array([0, 1]), np.array([2])])
    plain = np.abs(np.corrcoef(np.column_stack([X, y]).T))
    slopes = np.linalg.lstsq(X[:, :2], y - y.mean(), rcond=None)[0]
    multiple = np.corrcoef(X[:, :2] @ slopes, y)[0, 1]
    np.testing.assert_allclose(known.with_target, [multiple, plain[2, 3]])
    np.testing.assert_allclose(known.between(1), [plain[2, :2].max(), 1.0])


def test_uncertainties_between_features_are_symmetric():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, 150)
    X = codes[:, None] * np.array([2.0, 1.5, 0.0]) + rng.standard_normal((150, 3))
    known = uncertainty_associations(X, codes, [np.array([j]) for j in range(3)])
    table = np.array([known.between(j) for j in range(3)])
    np.testing.assert_allclose(table, table.T)
    assert known.with_target[0] > known.with_target[2] == 0.0
