"""Kernels as small objects, and the state that lets features leave them one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlselect.kernels import (
    chi_squared_part,
    expansion_terms,
    exponential_link,
    inner_part,
    polynomial_link,
    removal_products,
    squared_distance_part,
)

__all__ = [
    "AdditiveKernel",
    "ChiSquaredKernel",
    "GaussianKernel",
    "LinearKernel",
    "PolynomialKernel",
    "make_kernel",
    "make_state",
]

# A Taylor product of this order costs about as much as building the matrix.
_MOST_TERMS = 10


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

    def __init__(self, part: Callable, link: Callable) -> None:
        self.part = part
        self._link = link

    def link(self, total, bandwidth, out=None):
        """Kernel values from the sum of the parts."""
        return np.asarray(self._link(total), dtype=np.float64)

    def check(self, X: np.ndarray) -> None:
        """Refuse data the kernel is not defined on."""

    def __call__(self, A, B, bandwidth=1.0):
        """Kernel between the rows of two arrays."""
        return self.link(self.part(A, B), bandwidth)


class GaussianKernel(AdditiveKernel):
    """``exp(-|x - z|^2 / bandwidth^2)``."""

    uses_bandwidth = True
    trusted = True
    part = staticmethod(squared_distance_part)

    def __init__(self) -> None:
        pass

    def link(self, total, bandwidth, out=None):
        """Kernel values from squared distances."""
        return exponential_link(total, bandwidth, out=out)


class ChiSquaredKernel(GaussianKernel):
    """``exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / bandwidth^2)`` for histograms."""

    part = staticmethod(chi_squared_part)

    def check(self, X: np.ndarray) -> None:
        """Histograms have no negative bins."""
        if X.size and X.min() < 0:
            raise ValueError(
                f"Negative values in data: the chi2 kernel compares histograms and needs X >= 0, but the "
                f"smallest entry is "
                f"{X.min():.3g}; use kernel='rbf' or shift the columns"
            )


class LinearKernel(AdditiveKernel):
    """``<x, z>``."""

    trusted = True
    part = staticmethod(inner_part)

    def __init__(self) -> None:
        pass

    def link(self, total, bandwidth, out=None):
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
                f"PolynomialKernel needs an integer degree >= 1 and coef0 >= 0, got degree={degree!r}, "
                f"coef0={coef0!r}"
            )
        self.degree = int(degree)
        self.coef0 = float(coef0)

    def link(self, total, bandwidth, out=None):
        """Kernel values from inner products."""
        return polynomial_link(total, bandwidth, self.degree, self.coef0, out=out)


_NAMED = {"rbf": GaussianKernel, "linear": LinearKernel, "poly": PolynomialKernel, "chi2": ChiSquaredKernel}


def make_kernel(kernel: Any) -> Any:
    """Kernel object from a name, an object or a callable ``kernel(A, B)``."""
    if isinstance(kernel, str):
        if kernel not in _NAMED:
            raise ValueError(
                f"kernel={kernel!r} is not known; use one of {sorted(_NAMED)} or a callable kernel(A, B)"
            )
        return _NAMED[kernel]()
    if isinstance(kernel, AdditiveKernel):
        return kernel
    if callable(kernel):
        removal = getattr(kernel, "removal", "zero")
        if not (removal in ("zero", "drop") or callable(removal)):
            raise ValueError(
                f"the kernel's `removal` attribute is {removal!r}; use 'zero' (columns set to zero), 'drop' "
                f"(columns "
                "deleted) or a callable removal(X, columns) -> X"
            )
        return kernel
    raise TypeError(f"kernel must be a name, an AdditiveKernel or a callable, got {type(kernel).__name__}")


def make_state(kernel: Any, X: np.ndarray, groups: Sequence[np.ndarray], bandwidth: float) -> Any:
    """Kernel matrix on training rows from which groups of columns can be removed."""
    state = AdditiveState if isinstance(kernel, AdditiveKernel) else CallableState
    return state(kernel, X, groups, bandwidth)


class AdditiveState:
    """Sum of the parts of the active groups on the training rows; groups leave by subtraction.

    The arrays returned by :meth:`without` are buffers, overwritten by the next call. ``active`` are the
    groups to begin with, all of them unless told otherwise.
    """

    def __init__(
        self, kernel: AdditiveKernel, X: np.ndarray, groups: Sequence[np.ndarray], bandwidth: float,
        active: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.X, self.groups, self.bandwidth = kernel, X, groups, bandwidth
        self.active = list(range(len(groups)) if active is None else active)
        self._buffers: dict[Any, np.ndarray] = {}
        self._columns: tuple | None = None
        self._rebuild()

    def _rebuild(self) -> None:
        self.total = self._sum(self.X, self.columns(self.active))

    def _sum(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if not len(columns):
            return np.zeros((len(Z), len(self.X)))
        return np.asarray(self.kernel.part(Z[:, columns], self.X[:, columns]), dtype=np.float64)

    def columns(self, groups: Sequence[int]) -> np.ndarray:
        """Column numbers of some groups."""
        return np.concatenate([self.groups[g] for g in groups]) if len(groups) else np.empty(0, dtype=int)

    def gram(self) -> np.ndarray:
        """Kernel matrix of the active groups, a fresh array."""
        return self.kernel.link(self.total, self.bandwidth)

    def without(self, group: int) -> np.ndarray:
        """Kernel matrix once ``group`` is removed as well."""
        return self._reduced(self.X[:, self.groups[group]], self.total)

    def _reduced(self, block: np.ndarray, total: np.ndarray) -> np.ndarray:
        if not self.kernel.trusted:
            return self.kernel.link(total - self.kernel.part(block, block), self.bandwidth)
        buffer = self._buffers.get(total.dtype)
        if buffer is None or buffer.shape != total.shape:
            buffer = self._buffers[total.dtype] = np.empty_like(total)
        self.kernel.part(block, block, out=buffer)
        np.subtract(total, buffer, out=buffer)
        return self.kernel.link(buffer, self.bandwidth, out=buffer)

    def quadratic_forms(self, coefficients: np.ndarray, candidates: Sequence[int]) -> np.ndarray:
        """``sum_c b_c' K_i b_c`` for every candidate ``i``, on the rows where any coefficient is not zero."""
        rows = np.flatnonzero(np.any(coefficients != 0.0, axis=1))
        b, block = coefficients[rows], self.X[rows]
        total = self.total[np.ix_(rows, rows)]
        if isinstance(self.kernel, LinearKernel):
            gone = np.array([np.square(block[:, self.groups[i]].T @ b).sum() for i in candidates])
            return float(np.einsum("ij,ij->", b, total @ b)) - gone
        self._buffers.clear()
        forms = [
            np.einsum("ij,ij->", b, self._reduced(block[:, self.groups[i]], total) @ b) for i in candidates
        ]
        self._buffers.clear()
        return np.array(forms)

    def _scaled_columns(self, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Columns in units of the bandwidth and the expansion's length for each, until it changes."""
        key = (self.bandwidth, tolerance)
        if self._columns is None or self._columns[0] != key:
            # Distances do not see a shift; the middle of the range keeps the expansion short.
            middle = 0.5 * (self.X.max(axis=0) + self.X.min(axis=0))
            columns = (self.X - middle) / self.bandwidth
            self._columns = (key, columns, expansion_terms(columns, tolerance))
        return self._columns[1], self._columns[2]

    def shortcut(self, gram: np.ndarray, candidates: Sequence[int], dtype: Any) -> tuple:
        """All one-column removals at once where the Gaussian expansion is short; see ``best_removals``."""
        positions: np.ndarray = np.empty(0, dtype=int)
        products = None
        if type(self.kernel) is GaussianKernel:
            every, needed = self._scaled_columns(1e-7 if dtype == np.float32 else 1e-14)
            single = np.array([len(self.groups[i]) == 1 for i in candidates])
            places = [self.groups[i][0] for i in candidates]
            columns, terms = every[:, places], needed[places]
            positions = np.flatnonzero(single & (terms <= _MOST_TERMS))
            positions = positions[np.argsort(-terms[positions], kind="stable")]
            matrix, chosen = gram.astype(dtype, copy=False), columns[:, positions].astype(dtype)
            lengths = terms[positions]

            def products(vectors):
                return removal_products(matrix, chosen, vectors, lengths)

        if dtype != np.float32 or not self.kernel.trusted:
            return positions, products, self.without
        total, X = self.total.astype(np.float32), self.X.astype(np.float32)
        return positions, products, lambda group: self._reduced(X[:, self.groups[group]], total)

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        for group in groups:
            block = self.X[:, self.groups[group]]
            part = self.kernel.part(block, block)
            self.active.remove(group)
            before = float(np.abs(self.total).max(initial=0.0))
            self.total = self.total - part
            if float(np.abs(self.total).max(initial=0.0)) <= 1e-4 * before:
                # Nearly everything cancelled: the difference has lost its digits.
                self._rebuild()

    def cross(self, Z: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Kernel between new rows and the training rows on some groups."""
        return self.kernel.link(self._sum(Z, self.columns(groups)), self.bandwidth)


class CallableState:
    """A kernel known only as ``kernel(A, B)``; features leave as its ``removal`` attribute says."""

    def __init__(
        self, kernel: Callable, X: np.ndarray, groups: Sequence[np.ndarray], bandwidth: float
    ) -> None:
        self.kernel, self.X, self.groups, self.bandwidth = kernel, X, groups, bandwidth
        self.removal = getattr(kernel, "removal", "zero")
        self.active = list(range(len(groups)))

    def columns(self, groups: Sequence[int]) -> np.ndarray:
        """Column numbers of some groups."""
        return np.concatenate([self.groups[g] for g in groups]) if len(groups) else np.empty(0, dtype=int)

    def _reduce(self, X: np.ndarray, keep: Sequence[int]) -> np.ndarray:
        columns = self.columns(keep)
        if self.removal == "drop":
            return X[:, columns]
        gone = np.setdiff1d(np.arange(X.shape[1]), columns)
        if callable(self.removal):
            return self.removal(X, gone)
        reduced = X.copy()
        reduced[:, gone] = 0.0
        return reduced

    def _matrix(self, keep: Sequence[int]) -> np.ndarray:
        if not len(keep) and self.removal == "drop":
            return np.zeros((len(self.X), len(self.X)))
        reduced = self._reduce(self.X, keep)
        return np.asarray(self.kernel(reduced, reduced), dtype=np.float64)

    def gram(self) -> np.ndarray:
        """Kernel matrix of the active groups."""
        return self._matrix(self.active)

    def without(self, group: int) -> np.ndarray:
        """Kernel matrix once ``group`` is removed as well."""
        return self._matrix([g for g in self.active if g != group])

    def quadratic_forms(self, coefficients: np.ndarray, candidates: Sequence[int]) -> np.ndarray:
        """``sum_c b_c' K_i b_c`` for every candidate ``i``."""
        return np.array(
            [np.einsum("ij,ij->", coefficients, self.without(i) @ coefficients) for i in candidates]
        )

    shortcut = None

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.active = [g for g in self.active if g not in set(groups)]

    def cross(self, Z: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Kernel between new rows and the training rows on some groups."""
        if not len(groups) and self.removal == "drop":
            return np.zeros((len(Z), len(self.X)))
        return np.asarray(
            self.kernel(self._reduce(Z, groups), self._reduce(self.X, groups)), dtype=np.float64
        )
