"""Scores of all products at once against a regression for each."""

import numpy as np
import pytest

from rlselect.kernels import pair_scores


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_regressions_on_the_two_columns_and_their_product(weighted):
    rng = np.random.default_rng(0)
    n, p = 40, 4
    X = rng.exponential(size=(n, p)) + rng.exponential(size=(n, 1))
    w = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    mean = w @ X / w.sum()
    Z = (X - mean) / np.sqrt(w @ (X - mean) ** 2 / w.sum())
    score = rng.normal(size=(2, n))
    found = pair_scores(Z, w, score)
    root = np.sqrt(w)
    for a in range(p):
        assert found[a, a] == 0.0
        for b in range(a):
            beside = np.column_stack([np.ones(n), Z[:, a], Z[:, b]]) * root[:, None]
            product = Z[:, a] * Z[:, b] * root
            left = product - beside @ np.linalg.lstsq(beside, product, rcond=None)[0]
            expected = sum(
                (left @ (one * root)) ** 2 / (left @ left) / ((w * one**2).sum() / w.sum()) for one in score
            )
            assert found[a, b] == pytest.approx(expected, rel=1e-9)
            assert found[b, a] == pytest.approx(expected, rel=1e-9)


def test_products_that_their_columns_determine_are_not_judged():
    rng = np.random.default_rng(1)
    a = np.repeat([0.0, 1.0], 20)
    Z = np.column_stack([a, 1.0 - a, rng.normal(size=40), np.zeros(40)])
    Z = (Z - Z.mean(axis=0)) / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    found = pair_scores(Z, np.ones(40), rng.normal(size=(1, 40)))
    assert np.isfinite(found).all()
    assert found[0, 1] == 0.0
    assert found[0, 3] == 0.0
    assert found[0, 2] > 0.0
