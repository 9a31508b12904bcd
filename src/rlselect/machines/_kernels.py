"""Kernels as small objects, and the state that lets features leave them one by one."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import stop_if_late
from rlselect.kernels import (
    chi_squared_part,
    expansion_terms,
    exponential_link,
    inner_part,
    polynomial_link,
    removal_products,
    squared_distance_part,
)
from rlselect.machines._anova_kernel import AnovaKernel, AnovaState

__all__ = [
    "KERNELS",
    "AdditiveKernel",
    "AdditiveState",
    "CallableState",
    "ChiSquaredKernel",
    "GaussianKernel",
    "KernelState",
    "LinearKernel",
    "PolynomialKernel",
    "is_nested",
    "make_kernel",
    "make_state",
    "name_of_kernel",
    "quadratic_forms",
]

Array = NDArray[np.float64]
Groups = Sequence[NDArray[np.intp]]
# A Taylor product of this order costs about as much as building the matrix.
_MOST_TERMS = 10


class KernelState(Protocol):
    """A kernel matrix on training rows from which groups of columns can leave.

    Attributes
    ----------
    kernel : object
        The kernel behind it, where there is one to be told apart.
    X : (n, d) array
        Training rows.
    bandwidth : float
        Width of the kernel; may be set.
    active : list of int
        Groups still in.
    shortcut : callable or None
        As `rlselect.kernels.best_removals` takes it.
    """

    bandwidth: float

    @property
    def kernel(self) -> Any: ...
    @property
    def X(self) -> Array: ...
    @property
    def active(self) -> list[int]: ...
    @property
    def shortcut(self) -> Callable[..., tuple] | None: ...

    def gram(self) -> Array:
        """Kernel matrix of the active groups, a fresh array."""
        ...

    def without(self, group: int) -> Array:
        """Kernel matrix once ``group`` is removed as well, perhaps a buffer of the next call."""
        ...

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        ...

    def cross(self, Z: Array, groups: Sequence[int]) -> Array:
        """Kernel between new rows and the training rows on some groups."""
        ...


class AdditiveKernel:
    """A kernel that is a function of a sum over features: ``k(x, z) = link(sum_j part(x_j, z_j))``.

    Writing a kernel this way declares how a feature is removed: its part is subtracted.

    Parameters
    ----------
    part : callable
        ``part(A, B) -> (n, m)``: contribution of some columns, given as arrays (n, g) and (m, g). Additive
        over columns.
    link : callable
        ``link(total) -> (n, m)``: kernel from the sum; must give a positive semi-definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.subset import AdditiveKernel
    >>> laplace = AdditiveKernel(lambda a, b: np.abs(a[:, None] - b[None]).sum(-1), lambda t: np.exp(-t))
    >>> laplace(np.zeros((1, 2)), np.zeros((1, 2)))
    array([[1.]])
    """

    uses_bandwidth = False
    trusted = False

    def __init__(self, part: Callable[..., Array], link: Callable[..., Array]) -> None:
        self.part = part
        self._link = link

    def link(self, total: Any, bandwidth: float, out: Any = None) -> Array:
        """Kernel values from the sum of the parts."""
        return np.asarray(self._link(total), dtype=np.float64)

    def check(self, X: Array) -> None:
        """Refuse data the kernel is not defined on."""

    def __call__(self, A: Array, B: Array, bandwidth: float = 1.0) -> Array:
        """Kernel between the rows of two arrays."""
        return self.link(self.part(A, B), bandwidth)


class GaussianKernel(AdditiveKernel):
    """``exp(-|x - z|^2 / bandwidth^2)``."""

    uses_bandwidth = True
    trusted = True
    part = staticmethod(squared_distance_part)

    def __init__(self) -> None:
        pass

    def link(self, total: Any, bandwidth: float, out: Any = None) -> Array:
        """Kernel values from squared distances."""
        return exponential_link(total, bandwidth, out=out)


class ChiSquaredKernel(GaussianKernel):
    """``exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / bandwidth^2)`` for histograms."""

    part = staticmethod(chi_squared_part)

    def check(self, X: Array) -> None:
        """Histograms have no negative bins."""
        if X.size and X.min() < 0:
            raise ValueError(
                f"Negative values in data: kernel='chi2' compares histograms and needs X >= 0, but the "
                f"smallest entry is {X.min():.3g}; use kernel='rbf' or shift the columns."
            )


class LinearKernel(AdditiveKernel):
    """``<x, z>``."""

    trusted = True
    part = staticmethod(inner_part)

    def __init__(self) -> None:
        pass

    def link(self, total: Any, bandwidth: float, out: Any = None) -> Array:
        """The inner product itself."""
        return np.copy(total) if out is None else total


class PolynomialKernel(AdditiveKernel):
    """``(coef0 + <x, z> / bandwidth^2) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        A positive integer.
    coef0 : float, default=1.0
        Non-negative; lower-order terms enter through it.
    """

    uses_bandwidth = True
    trusted = True
    part = staticmethod(inner_part)

    def __init__(self, degree: int = 3, coef0: float = 1.0) -> None:
        if int(degree) != degree or degree < 1 or coef0 < 0:
            raise ValueError(
                f"degree={degree!r} and coef0={coef0!r} were given; a PolynomialKernel needs an integer "
                "degree of at least 1 and a coef0 of at least 0."
            )
        self.degree = int(degree)
        self.coef0 = float(coef0)

    def link(self, total: Any, bandwidth: float, out: Any = None) -> Array:
        """Kernel values from inner products."""
        return polynomial_link(total, bandwidth, self.degree, self.coef0, out=out)


KERNELS: dict[str, type[Any]] = {
    "rbf": GaussianKernel,
    "linear": LinearKernel,
    "poly": PolynomialKernel,
    "chi2": ChiSquaredKernel,
    "anova": AnovaKernel,
}
AnyKernel = AdditiveKernel | AnovaKernel | Callable[[Array, Array], Array]


def make_kernel(kernel: str | AnyKernel) -> AnyKernel:
    """Kernel object from one of the names of `KERNELS`; an object or a callable ``kernel(A, B)`` as it is."""
    if isinstance(kernel, str):
        return KERNELS[kernel]()
    removal = getattr(kernel, "removal", "zero")
    if not (removal in ("zero", "drop") or callable(removal)):
        raise ValueError(
            f"The kernel's attribute removal={removal!r} is not known; use 'zero' (columns set to zero), "
            "'drop' (columns deleted) or a callable removal(X, columns) -> X."
        )
    return kernel


def name_of_kernel(kernel: AnyKernel) -> str:
    """What users call a kernel: its name in `KERNELS`, or of its class or function."""
    names = [name for name, kind in KERNELS.items() if type(kernel) is kind]
    return names[0] if names else getattr(kernel, "__name__", type(kernel).__name__)


def make_state(kernel: AnyKernel, X: Array, groups: Groups, bandwidth: float) -> KernelState:
    """Kernel matrix on training rows from which groups of columns can be removed."""
    if isinstance(kernel, AdditiveKernel):
        return AdditiveState(kernel, X, groups, bandwidth)
    if isinstance(kernel, AnovaKernel):
        return AnovaState(kernel, X, groups, bandwidth)
    return CallableState(kernel, X, groups, bandwidth)


def quadratic_forms(state: KernelState, coefficients: Array, candidates: Sequence[int]) -> Array:
    """``sum_c b_c' K_i b_c`` of coefficients (n, c) for the matrix ``K_i`` without each candidate ``i``."""
    if isinstance(state, AdditiveState):
        return state.quadratic_forms(coefficients, candidates)
    forms = []
    for i in candidates:
        stop_if_late()
        forms.append(np.einsum("ij,ij->", coefficients, state.without(i) @ coefficients))
    return np.array(forms)


def is_nested(state: KernelState) -> bool:
    """Whether functions of fewer groups are functions of more, of no larger norm there: the kernel matrix of
    more less that of fewer is one of a kernel, too.
    """
    return type(state.kernel) in (LinearKernel, PolynomialKernel)


def _columns_of(groups: Groups, some: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate([groups[g] for g in some]) if len(some) else np.empty(0, dtype=np.intp)


class AdditiveState:
    """Sum of the parts of the active groups on the training rows; groups leave by subtraction.

    The arrays returned by :meth:`without` are buffers, overwritten by the next call. ``active`` are the
    groups to begin with, all of them unless told otherwise.
    """

    def __init__(
        self,
        kernel: AdditiveKernel,
        X: Array,
        groups: Groups,
        bandwidth: float,
        active: Sequence[int] | None = None,
    ) -> None:
        self.kernel, self.X, self.groups, self.bandwidth = kernel, X, groups, bandwidth
        self.active = list(range(len(groups)) if active is None else active)
        self._buffers: dict[Any, Array] = {}
        self._columns: tuple | None = None
        self._rebuild()

    def _rebuild(self) -> None:
        self.total = self._sum(self.X, self.columns(self.active))

    def _sum(self, Z: Array, columns: NDArray[np.intp]) -> Array:
        if not len(columns):
            return np.zeros((len(Z), len(self.X)))
        return np.asarray(self.kernel.part(Z[:, columns], self.X[:, columns]), dtype=np.float64)

    def columns(self, groups: Sequence[int]) -> NDArray[np.intp]:
        """Column numbers of some groups."""
        return _columns_of(self.groups, groups)

    def gram(self) -> Array:
        """Kernel matrix of the active groups, a fresh array."""
        return self.kernel.link(self.total, self.bandwidth)

    def without(self, group: int) -> Array:
        """Kernel matrix once ``group`` is removed as well."""
        return self._reduced(self.X[:, self.groups[group]], self.total)

    def _reduced(self, block: NDArray[np.floating], total: NDArray[np.floating]) -> Array:
        if not self.kernel.trusted:
            return self.kernel.link(total - self.kernel.part(block, block), self.bandwidth)
        buffer = self._buffers.get(total.dtype)
        if buffer is None or buffer.shape != total.shape:
            buffer = self._buffers[total.dtype] = np.empty_like(total)
        self.kernel.part(block, block, out=buffer)
        np.subtract(total, buffer, out=buffer)
        return self.kernel.link(buffer, self.bandwidth, out=buffer)

    def quadratic_forms(self, coefficients: Array, candidates: Sequence[int]) -> Array:
        """``sum_c b_c' K_i b_c`` for every candidate ``i``, on the rows where any coefficient is not zero."""
        rows = np.flatnonzero(np.any(coefficients != 0.0, axis=1))
        b, block = coefficients[rows], self.X[rows]
        total = self.total[np.ix_(rows, rows)]
        if isinstance(self.kernel, LinearKernel):
            gone = np.array([np.square(block[:, self.groups[i]].T @ b).sum() for i in candidates])
            return float(np.einsum("ij,ij->", b, total @ b)) - gone
        self._buffers.clear()
        forms = []
        for i in candidates:
            stop_if_late()
            forms.append(np.einsum("ij,ij->", b, self._reduced(block[:, self.groups[i]], total) @ b))
        self._buffers.clear()
        return np.array(forms)

    def _scaled_columns(self, tolerance: float) -> tuple[Array, NDArray[np.intp]]:
        """Columns in units of the bandwidth and the expansion's length for each, until it changes."""
        key = (self.bandwidth, tolerance)
        if self._columns is None or self._columns[0] != key:
            # Distances do not see a shift; the middle of the range keeps the expansion short.
            middle = 0.5 * (self.X.max(axis=0) + self.X.min(axis=0))
            columns = (self.X - middle) / self.bandwidth
            self._columns = (key, columns, expansion_terms(columns, tolerance))
        return self._columns[1], self._columns[2]

    def shortcut(self, gram: Array, candidates: Sequence[int], dtype: Any) -> tuple:
        """All one-column removals at once where the Gaussian expansion is short; see ``best_removals``."""
        positions = np.empty(0, dtype=np.intp)
        products: Callable[[Array], Array] | None = None
        if type(self.kernel) is GaussianKernel:
            every, needed = self._scaled_columns(1e-7 if dtype == np.float32 else 1e-14)
            single = np.array([len(self.groups[i]) == 1 for i in candidates])
            places = [self.groups[i][0] for i in candidates]
            columns, terms = every[:, places], needed[places]
            positions = np.flatnonzero(single & (terms <= _MOST_TERMS))
            positions = positions[np.argsort(-terms[positions], kind="stable")]
            matrix, chosen = gram.astype(dtype, copy=False), columns[:, positions].astype(dtype)
            lengths = terms[positions]

            def products(vectors: Array) -> Array:
                return removal_products(matrix, chosen, vectors, lengths)

        if dtype != np.float32 or not self.kernel.trusted:
            return positions, products, self.without
        total, X = self.total.astype(np.float32), self.X.astype(np.float32)
        return positions, products, lambda group: self._reduced(X[:, self.groups[group]], total)

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        gone, n_columns = set(groups), len(self.columns(self.active))
        self.active = [group for group in self.active if group not in gone]
        if 2 * len(self.columns(self.active)) < n_columns:
            # fewer columns to add up than to take away
            self._rebuild()
            return
        block = self.X[:, _columns_of(self.groups, groups)]
        before = float(np.abs(self.total).max(initial=0.0))
        self.total = self.total - self.kernel.part(block, block)
        if float(np.abs(self.total).max(initial=0.0)) <= 1e-4 * before:
            # Nearly everything cancelled: the difference has lost its digits.
            self._rebuild()

    def cross(self, Z: Array, groups: Sequence[int]) -> Array:
        """Kernel between new rows and the training rows on some groups."""
        return self.kernel.link(self._sum(Z, self.columns(groups)), self.bandwidth)


class CallableState:
    """A kernel known only as ``kernel(A, B)``; features leave as its ``removal`` attribute says."""

    def __init__(
        self, kernel: Callable[[Array, Array], Array], X: Array, groups: Groups, bandwidth: float
    ) -> None:
        self.kernel, self.X, self.groups, self.bandwidth = kernel, X, groups, bandwidth
        self.removal = getattr(kernel, "removal", "zero")
        self.active = list(range(len(groups)))

    def columns(self, groups: Sequence[int]) -> NDArray[np.intp]:
        """Column numbers of some groups."""
        return _columns_of(self.groups, groups)

    def _reduce(self, X: Array, keep: Sequence[int]) -> Array:
        columns = self.columns(keep)
        if self.removal == "drop":
            return X[:, columns]
        gone = np.setdiff1d(np.arange(X.shape[1]), columns)
        if callable(self.removal):
            return self.removal(X, gone)
        reduced = X.copy()
        reduced[:, gone] = 0.0
        return reduced

    def _matrix(self, keep: Sequence[int]) -> Array:
        if not len(keep) and self.removal == "drop":
            return np.zeros((len(self.X), len(self.X)))
        reduced = self._reduce(self.X, keep)
        return np.asarray(self.kernel(reduced, reduced), dtype=np.float64)

    def gram(self) -> Array:
        """Kernel matrix of the active groups."""
        return self._matrix(self.active)

    def without(self, group: int) -> Array:
        """Kernel matrix once ``group`` is removed as well."""
        return self._matrix([g for g in self.active if g != group])

    shortcut = None

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.active = [g for g in self.active if g not in set(groups)]

    def cross(self, Z: Array, groups: Sequence[int]) -> Array:
        """Kernel between new rows and the training rows on some groups."""
        if not len(groups) and self.removal == "drop":
            return np.zeros((len(Z), len(self.X)))
        return np.asarray(
            self.kernel(self._reduce(Z, groups), self._reduce(self.X, groups)), dtype=np.float64
        )
