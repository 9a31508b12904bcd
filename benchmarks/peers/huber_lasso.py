"""Lasso path of Huber's loss, Huber refit of each support, robust EBIC (gamma .5)."""

import numpy as np

from peers._criteria import standardised

NAME = "Huber lasso, EBIC"
FAMILIES = ("gaussian",)
MAX_SIZE = 60
CORNER = 1.345
_STEPS = 200


def available():
    return True


def select(X, y, family, *, seed):
    X, n = standardised(X), len(y)
    residual = y - np.median(y)
    scale = _scale(residual)
    top = np.abs(X.T @ _influence(residual, scale)).max() / n
    coef, intercept = np.zeros(X.shape[1]), float(np.median(y))
    supports = []
    for strength in top * np.geomspace(1.0, 0.02, 40):
        coef, intercept = _lasso(X, y, strength, scale, coef, intercept)
        scale = _scale(y - X @ coef - intercept)
        supports.append(coef != 0)
        if supports[-1].sum() > MAX_SIZE:
            break
    supports = [s for s in supports if s.sum() <= min(MAX_SIZE, n // 3)]
    # one scale for all, that of the largest model: the losses are then comparable
    least = _scale(_refit(X[:, supports[-1]], y, scale))
    return min(supports, key=lambda s: _ebic(_refit(X[:, s], y, least), least, s.sum(), X.shape[1]))


def _scale(residual):
    return 1.4826 * float(np.median(np.abs(residual - np.median(residual)))) + 1e-12


def _influence(residual, scale):
    return np.clip(residual, -CORNER * scale, CORNER * scale)


def _lasso(X, y, strength, scale, coef, intercept):
    """Proximal gradient steps with momentum; the loss is at most as curved as least squares."""
    n = len(y)
    step = n / (np.linalg.norm(X, 2) ** 2 + n)
    ahead, ahead_intercept, t = coef, intercept, 1.0
    for _ in range(_STEPS):
        pull = _influence(y - X @ ahead - ahead_intercept, scale)
        new = ahead + step * X.T @ pull / n
        new = np.sign(new) * np.maximum(np.abs(new) - step * strength, 0.0)
        new_intercept = ahead_intercept + step * pull.mean()
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))
        ahead = new + (t - 1.0) / later * (new - coef)
        ahead_intercept = new_intercept + (t - 1.0) / later * (new_intercept - intercept)
        moved = np.abs(new - coef).max()
        coef, intercept, t = new, new_intercept, later
        if moved <= 1e-5 * scale:
            break
    return coef, intercept


def _refit(A, y, scale):
    """Residuals of Huber's regression."""
    design = np.column_stack([np.ones(len(y)), A])
    solve, fitted = np.linalg.pinv(design), np.full(len(y), np.median(y))
    for _ in range(_STEPS):
        change = design @ (solve @ _influence(y - fitted, scale))
        fitted = fitted + change
        if np.abs(change).max() <= 1e-5 * scale:
            break
    return y - fitted


def _ebic(residual, scale, k, p):
    corner = CORNER * scale
    size = np.abs(residual)
    loss = np.where(size <= corner, 0.5 * size**2, corner * (size - 0.5 * corner)).mean()
    return len(residual) * np.log(loss) + k * (np.log(len(residual)) + np.log(p))
