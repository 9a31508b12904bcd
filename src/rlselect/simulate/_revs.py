"""The simulations of the REVS paper."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rlselect.simulate._designs import BandedDesign, BlockDesign, RandomDesign, SparseDesign
from rlselect.simulate._simulation import Simulation, check_common, check_dtype, simulate

STRUCTURES = ("block", "banded", "sparse")
_DEFAULT_NONZERO = {"gaussian": 25, "binomial": 15, "poisson": 15}

_RUN = 5
_PERIOD = 10


def make_revs(
    n: int = 200,
    p: int = 200,
    *,
    structure: str = "block",
    family: str = "gaussian",
    n_nonzero: int | None = None,
    noise_variance: float = 2.0,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> Simulation:
    r"""Simulate the correlated designs of the REVS paper [1]_.

    The rows are centred Gaussian; with :math:`\eta = X \beta` the response is
    :math:`y = \eta + N(0, \text{noise\_variance})`, a coin with success probability
    :math:`1 / (1 + e^{-\eta})`, or a Poisson count with mean :math:`e^{\beta_0 + \eta}`.

    Structures:

    - ``"block"``: columns 5g..5g+4 share a N(0, 1) factor for g = 0..9 and carry N(0, 1) noise of their own
      (variance 2, correlation .5); all later columns are independent N(0, 1).
    - ``"banded"``: unit variances, covariance :math:`0.8^{|i-j|}`.
    - ``"sparse"``: precision :math:`B + \delta I`, where the entries of the symmetric B are .5 with
      probability .6 and 0 otherwise, :math:`\delta` gives the condition number p, and the columns are
      scaled to unit variance. B is drawn anew with each data set.

    The non-zero coefficients come in runs of five, at columns 10k..10k+4, and the sign alternates from run to
    run: +1, -1, +1, -1, +1 for k = 0..4.

    Parameters
    ----------
    n, p : int, default=200
        Rows and columns.
    structure : {"block", "banded", "sparse"}, default="block"
        The correlation of the columns.
    family : {"gaussian", "binomial", "poisson"}, default="gaussian"
        The distribution of y.
    n_nonzero : int, default=None
        Number of non-zero coefficients; None takes the paper's 25 (Gaussian) or 15 (binomial, and Poisson,
        which the paper does not simulate). 0 gives a response without any signal.
    noise_variance : float, default=2.0
        Variance of the Gaussian noise; the other families have no such parameter and ignore it.
    dtype : {np.float32, np.float64}, default=np.float64
        Type of X. Single and double precision take different draws from the generator: the same seed gives
        two different data sets of the same distribution.
    random_state : None, int, SeedSequence or Generator, default=None
        Anything :func:`numpy.random.default_rng` takes. The same seed gives the same data.

    Returns
    -------
    Simulation
        ``X``, ``y``, ``coef``, ``intercept``, ``support``.

    Notes
    -----
    The paper's print leaves choices open; this is the reading used here.

    - The coefficient vector as printed holds 45 non-zeros (nine runs of five, spaced by six zeros), while
      the text and the tables speak of 25 for the linear model and 15 for the logistic one. Here five (three)
      runs are kept, spaced by five zeros, so that the counts agree with the text.
    - The factors are printed for five blocks of five columns, the noise around them for 50 columns. Here
      there are ten blocks, which cover those 50 columns: true columns and null ones in turn.
    - :math:`\delta`, the intercept and the scaling of the sparse design are not given. Here they are the
      condition number p, 0 and unit variances.

    The Poisson coefficients are scaled so that the linear predictor has variance 1 whatever the structure,
    and its intercept is .5; unit coefficients would give means beyond any count.

    The cost is O(n p), and O(n p^2 + p^3) for ``"sparse"``; beyond X itself only a block of rows is held.

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS), section 5 and
       appendix C.

    Examples
    --------
    >>> from rlselect.simulate import make_revs
    >>> data = make_revs(100, 60, structure="banded", random_state=0)
    >>> data.X.shape, int(data.support.sum())
    ((100, 60), 25)
    >>> data.coef[8:18]
    array([ 0.,  0., -1., -1., -1., -1., -1.,  0.,  0.,  0.])
    """
    if structure not in STRUCTURES:
        raise ValueError(
            f"structure={structure!r} was given; choose one of {', '.join(map(repr, STRUCTURES))}."
        )
    if n_nonzero is None:
        n_nonzero = _DEFAULT_NONZERO.get(family, 0)
    check_common(n, p, n_nonzero, family, noise_variance)
    resolved = check_dtype(dtype)
    coef = _runs_of_five(p, n_nonzero)
    rng = np.random.default_rng(random_state)
    design: RandomDesign
    if structure == "block":
        design = BlockDesign.draw(n, rng, resolved)
    elif structure == "banded":
        design = BandedDesign()
    else:
        design = SparseDesign.draw(p, rng, resolved)
    intercept = 0.0
    if family == "poisson":
        intercept = 0.5
        coef = _unit_signal(coef, design)
    return simulate(
        design,
        (n, p),
        coef,
        intercept,
        family=family,
        noise_variance=noise_variance,
        dtype=resolved,
        rng=rng,
    )


def _runs_of_five(p: int, n_nonzero: int) -> NDArray[np.float64]:
    """Plus and minus one in runs of five, every ten columns."""
    order = np.arange(n_nonzero)
    run = order // _RUN
    places = _PERIOD * run + order % _RUN
    if n_nonzero and places[-1] >= p:
        raise ValueError(
            f"p={p} was given with {n_nonzero} non-zero coefficients, which sit at columns 10k..10k+4 up to "
            f"column {places[-1]}; give p of at least {places[-1] + 1} or a smaller n_nonzero."
        )
    coef = np.zeros(p)
    coef[places] = 1.0 - 2.0 * (run % 2)
    return coef


def _unit_signal(coef: NDArray[np.float64], design: RandomDesign) -> NDArray[np.float64]:
    """Scale the coefficients so that the linear predictor has variance one."""
    active = np.flatnonzero(coef)
    variance = coef[active] @ design.covariance(active) @ coef[active]
    return coef / np.sqrt(variance) if variance > 0 else coef
