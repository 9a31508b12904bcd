"""Sum of single effects, by iterative Bayesian stepwise selection (Wang and others, 2020), written here.

Ten single effects of one prior variance each, learnt by its likelihood; the noise variance is learnt too.
`posterior` returns the coefficients' means and the inclusion probabilities; columns with a probability above
.5 are selected.
"""

import numpy as np
from scipy.special import logsumexp

from peers._criteria import standardised

NAME = "SuSiE"
FAMILIES = ("gaussian",)
EFFECTS = 10
_VARIANCES = np.geomspace(1e-4, 4.0, 25)


def available():
    return True


def select(X, y, family, *, seed):
    return posterior(X, y)[1] > 0.5


def posterior(X, y, *, most=200, tolerance=1e-4):
    """Mean coefficients (of the columns as they are), inclusion probabilities and the intercept."""
    Z, t = standardised(X), y - y.mean()
    n, p = Z.shape
    scale = float(t @ t) / n
    means, noise, shares = np.zeros((EFFECTS, p)), scale, np.zeros((EFFECTS, p))
    squares = np.zeros((EFFECTS, p))
    fitted = np.zeros(n)
    for _ in range(most):
        before = noise
        for e in range(EFFECTS):
            fitted -= Z @ means[e]
            shares[e], means[e], squares[e] = _single(Z.T @ (t - fitted), n, noise, scale)
            fitted += Z @ means[e]
        spread = n * (squares.sum() - sum(_length(Z, m) / n for m in means))
        noise = max((float(((t - fitted) ** 2).sum()) + spread) / n, 1e-10 * scale)
        if abs(noise - before) < tolerance * before:
            break
    coef = means.sum(axis=0) / X.std(axis=0)
    return coef, 1.0 - np.prod(1.0 - shares, axis=0), y.mean() - X.mean(axis=0) @ coef


def _length(Z, coef):
    inside = np.flatnonzero(coef)
    return float(((Z[:, inside] @ coef[inside]) ** 2).sum())


def _single(products, n, noise, scale):
    """One effect: shares of the columns, mean and second moment, under the likeliest prior variance."""
    estimate, error = products / n, noise / n
    variance = scale * _VARIANCES[:, None]
    ratio = variance / (variance + error)
    log_odds = 0.5 * np.log1p(-ratio) + 0.5 * ratio * estimate**2 / error
    total = logsumexp(log_odds, axis=1) - np.log(len(products))
    best = int(np.argmax(total))
    # no effect at all is a prior variance of zero, whose likelihood ratio is one
    if total[best] <= 0.0:
        zero = np.zeros(len(products))
        return zero, zero, zero
    share = np.exp(log_odds[best] - logsumexp(log_odds[best]))
    mean = ratio[best] * estimate
    return share, share * mean, share * (mean**2 + ratio[best] * error)
