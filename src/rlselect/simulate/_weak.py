"""Weak signals among correlated columns: where the paper's big-data cells are too easy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rlselect.simulate._designs import BandedDesign
from rlselect.simulate._simulation import Simulation, check_common, check_dtype, simulate

DESIGNS = ("levels", "gap")
_DEFAULT_COEFFICIENTS: dict[str, tuple[float, ...]] = {
    "levels": (0.05, 0.1, 0.2, 0.3),
    "gap": (0.3, 0.03),
}
_STRONG_SHARE = 0.6


def make_weak(
    n: int = 500_000,
    p: int = 400,
    *,
    design: str = "levels",
    coefficients: Sequence[float] | None = None,
    n_nonzero: int = 25,
    correlation: float = 0.8,
    family: str = "gaussian",
    noise_variance: float = 2.0,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> Simulation:
    """Simulate weak coefficients at random places of a banded design.

    The columns have covariance ``correlation ** |i - j|``; places and signs of the non-zero coefficients are
    random, so that neighbours may cancel. A method that reads a fixed number of rows, or uses one penalty
    for every n, loses the small ones.

    Parameters
    ----------
    n, p : int, default=500_000 and 400
        Rows and columns.
    design : {"levels", "gap"}, default="levels"
        ``"levels"`` draws each size from ``coefficients`` at random. ``"gap"`` gives the first of two sizes
        to 60 % of the places (15 of 25) and the second to the rest: nothing lies between the strong signals
        and the faint ones, which invites a method to stop too early.
    coefficients : sequence of float, default=None
        Absolute sizes; None takes (.05, .1, .2, .3) for ``"levels"`` and (.3, .03) for ``"gap"``.
    n_nonzero : int, default=25
        Number of non-zero coefficients.
    correlation : float, default=0.8
        Correlation of neighbouring columns, inside (-1, 1).
    family : {"gaussian", "binomial", "poisson"}, default="gaussian"
        The distribution of y; the intercept is 0.
    noise_variance : float, default=2.0
        Variance of the Gaussian noise; the other families ignore it.
    dtype : {np.float32, np.float64}, default=np.float64
        Type of X. Single and double precision take different draws from the generator.
    random_state : None, int, SeedSequence or Generator, default=None
        Anything :func:`numpy.random.default_rng` takes. The same seed gives the same data.

    Returns
    -------
    Simulation
        ``X``, ``y``, ``coef``, ``intercept``, ``support``.

    Notes
    -----
    A coefficient b is seen with z = b sqrt(n v / noise_variance), v the variance of its column given all the
    others: .22 for an inner column at correlation .8. With 500,000 rows and noise variance 2, b = .05 has
    z = 12 and b = .03 has z = 7; with a tenth of the rows these are 3.7 and 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.simulate import make_weak
    >>> data = make_weak(100, 400, design="gap", random_state=0)
    >>> sizes, counts = np.unique(np.abs(data.coef[data.support]), return_counts=True)
    >>> sizes.tolist(), counts.tolist()
    ([0.03, 0.3], [10, 15])
    """
    check_common(n, p, n_nonzero, family, noise_variance)
    if design not in DESIGNS:
        raise ValueError(f"design={design!r} was given; choose one of {', '.join(map(repr, DESIGNS))}.")
    if n_nonzero > p:
        raise ValueError(
            f"p={p} was given with n_nonzero={n_nonzero}; give p of at least {n_nonzero} or fewer non-zeros."
        )
    if not -1.0 < correlation < 1.0:
        raise ValueError(f"correlation={correlation!r} was given; it must lie strictly between -1 and 1.")
    levels = _check_coefficients(coefficients, design)
    resolved = check_dtype(dtype)
    rng = np.random.default_rng(random_state)
    if design == "levels":
        sizes = rng.choice(levels, size=n_nonzero)
    else:
        strong = round(_STRONG_SHARE * n_nonzero)
        sizes = np.repeat(levels, [strong, n_nonzero - strong])
    coef = np.zeros(p)
    coef[rng.choice(p, size=n_nonzero, replace=False)] = sizes * rng.choice([-1.0, 1.0], size=n_nonzero)
    return simulate(
        BandedDesign(correlation),
        (n, p),
        coef,
        0.0,
        family=family,
        noise_variance=noise_variance,
        dtype=resolved,
        rng=rng,
    )


def _check_coefficients(coefficients: Sequence[float] | None, design: str) -> NDArray[np.float64]:
    levels = np.asarray(_DEFAULT_COEFFICIENTS[design] if coefficients is None else coefficients, dtype=float)
    if levels.ndim != 1 or not levels.size or not np.all(np.isfinite(levels) & (levels > 0)):
        raise ValueError(
            f"coefficients={coefficients!r} was given; it must be a sequence of sizes above 0 "
            "(signs are drawn at random)."
        )
    if design == "gap" and levels.size != 2:
        raise ValueError(
            f"coefficients={coefficients!r} was given; design='gap' takes exactly two sizes: strong, faint."
        )
    return levels
