"""Every loss keeps the promise of its dual: a feasible point bounds the minimum from below."""

import numpy as np
import pytest

from rlselect.machines import LOSSES, EpsilonInsensitiveLoss, make_loss, solve_machine


@pytest.mark.parametrize("name", LOSSES)
def test_the_dual_of_one_kernel_bounds_another(name):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(25, 4)), rng.integers(1, 3, size=25).astype(float)
    loss = make_loss(name)
    y = rng.normal(size=(25, 1))
    y = np.sign(y) if loss.classifies else y

    def gram(columns):
        return np.exp(-np.square(X[:, None, columns] - X[None][:, :, columns]).sum(axis=-1) / 4.0)

    here, there = (solve_machine(gram(c), y, weights, 0.05, loss) for c in ([0, 1, 2, 3], [0, 2]))
    constant = loss.conjugate(here.dual, y, weights, 0.05)
    for kernel, solved in ((gram([0, 1, 2, 3]), here), (gram([0, 2]), there)):
        bound = constant - 0.05 * float(np.sum(here.dual * (kernel @ here.dual)))
        assert bound <= solved.objective + 1e-9
    # at its own kernel the bound is nearly the minimum
    own = constant - 0.05 * float(np.sum(here.dual * (gram([0, 1, 2, 3]) @ here.dual)))
    assert own == pytest.approx(here.objective, rel=1e-2)


def test_names_say_what_they_are():
    for name in LOSSES:
        assert make_loss(name).name == name
    wide = EpsilonInsensitiveLoss(0.3)
    assert make_loss(wide) is wide
    assert repr(wide) == "EpsilonInsensitiveLoss(epsilon=0.3)"
    with pytest.raises(ValueError, match=r"epsilon=-1 was given"):
        EpsilonInsensitiveLoss(-1)


@pytest.mark.parametrize("rows", [60, 260])
def test_a_bad_start_does_not_change_a_logistic_machine(rows):
    # rows may be enough for steps in the dimensions of the kernel, and hardly regularised
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 3))
    y = np.where(X[:, :1] - 1.5 + 0.3 * rng.normal(size=(rows, 1)) > 0, 1.0, -1.0)
    gram, weights, loss = X @ X.T, rng.integers(1, 3, size=rows).astype(float), make_loss("logistic")
    lam = 1e-4
    cold = solve_machine(gram, y, weights, lam, loss)
    f = gram @ cold.coefficients + cold.intercept
    pull = weights[:, None] * y / (1.0 + np.exp(y * f)) / weights.sum()
    assert abs(pull.sum()) <= 1e-6
    assert np.allclose(2.0 * lam * gram @ cold.coefficients, gram @ pull, atol=1e-6)
    for start in (1e3 * y, -1e3 * y, 50.0 * rng.normal(size=(rows, 1))):
        warm = solve_machine(gram, y, weights, lam, loss, start=start)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
