"""Effects that show in company only, on many rows."""

import numpy as np
import pytest

from rlselect import REVS


def hidden(kind, n=60_000, p=40, seed=0):
    """Rows, response and truth: three pairs that cancel, or three columns of which one sums up the others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.float32)
    beta = np.zeros(p)
    for k in range(3):
        if kind == "pairs":
            i, j = 2 * k, 2 * k + 1
            X[:, j] = 0.9 * X[:, i] + np.sqrt(0.19) * X[:, j]
            beta[i], beta[j] = np.array([9.0, -9.0]) / np.sqrt(0.2 * n)
        else:
            i, j, s = 3 * k, 3 * k + 1, 3 * k + 2
            X[:, s] = np.sqrt(0.475) * (X[:, i] + X[:, j]) + np.sqrt(0.05) * X[:, s]
            beta[[i, j, s]] = 9.0 / np.sqrt(0.05 * n) * np.array([-np.sqrt(0.475), -np.sqrt(0.475), 1.0])
    return X, X @ beta + rng.standard_normal(n), beta != 0


@pytest.mark.parametrize("kind", ["pairs", "sums"])
@pytest.mark.parametrize("seed", [1, 2])
def test_effects_that_hide_each_other_are_found(kind, seed):
    X, y, truth = hidden(kind, seed=seed)
    found = REVS(random_state=0).fit(X, y).support_
    assert 2 * np.sum(found & truth) / (found.sum() + truth.sum()) > 0.9


def test_what_is_detectable_counts_with_a_column_that_may_hide_it():
    X, _, _ = hidden("pairs")
    y = X[:, 20] + np.random.default_rng(1).standard_normal(len(X))
    sizes = REVS(random_state=0).fit(X, y).detectable_
    # at a correlation of .9 two show at least sqrt(.19) of an effect, and pay for two
    assert np.all(sizes[:6] > 2.0 * np.median(sizes[30:]))
