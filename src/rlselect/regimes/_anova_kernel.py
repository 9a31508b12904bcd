r"""Kernels for decisions: the present action always stays, features leave with their interactions.

The action-ANOVA kernel of a row with covariates x, past actions b in P and present action a is

.. math:: K = k_a + \Bigl(\sum_{j} k_j\Bigr) \circ \Bigl(1 + k_a + \sum_{b \in P} k_b\Bigr)
          + \sum_{b \in P} k_b \circ (1 + k_a),

where actions enter through the corners of a simplex (-1 and 1 for two of them), each covariate through half a
linear and half a centred Gaussian kernel, and a category through corners of its own, centred. Removing a past
action deletes its interactions as well.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlselect.machines import AdditiveState, GaussianKernel

__all__ = ["ActionAnovaState", "ContrastState", "KeptState", "simplex_codes"]

# Gaussian features of a column: its quantiles at this many knots span them.
_KNOTS = 12


def simplex_codes(n_labels: int) -> np.ndarray:
    """Corners of a regular simplex, one row per label: unit length, the same angle between any two."""
    corners = np.eye(n_labels) - 1.0 / n_labels
    values, vectors = np.linalg.eigh(corners)
    codes = corners @ vectors[:, values > 0.5]
    # The first label sits on the negative side of the first axis: two labels are -1 and 1.
    codes *= np.where(codes[0] > 0, -1.0, 1.0)
    return codes * np.sqrt(n_labels / (n_labels - 1.0))


class ColumnFeatures:
    """Features whose inner product is half a linear and half a centred Gaussian kernel of one column.

    Parameters
    ----------
    values : (n,) array
        A standardised training column.
    width : float or None
        ``exp(-(x - z)^2 / width^2)``; None leaves the linear half alone (with full weight).
    tolerance : float
        Share of the largest eigenvalue below which a feature is left out.
    """

    def __init__(self, values: np.ndarray, width: float | None, tolerance: float = 1e-8) -> None:
        self.width = width
        if width is not None:
            self.knots = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _KNOTS)))
            inner = np.exp(-np.square((self.knots[:, None] - self.knots) / width))
            eigenvalues, vectors = np.linalg.eigh(inner)
            keep = eigenvalues > tolerance * eigenvalues[-1]
            self.root = vectors[:, keep] / np.sqrt(2.0 * eigenvalues[keep])
            self.mean = self._gaussian(values).mean(axis=0)

    def _gaussian(self, values: np.ndarray) -> np.ndarray:
        return np.exp(-np.square((values[:, None] - self.knots) / self.width)) @ self.root

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Features of new values, one row each."""
        if self.width is None:
            return values[:, None]
        return np.column_stack([values * np.sqrt(0.5), self._gaussian(values) - self.mean])


class CategoryFeatures:
    """Centred codes of a category, of unit mean square.

    Parameters
    ----------
    codes : (n, k) array
        Of the training rows.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self.mean = codes.mean(axis=0)
        self.scale = float(np.sqrt(np.square(codes - self.mean).sum(axis=1).mean())) or 1.0

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Features of new codes, one row each."""
        return (codes - self.mean) / self.scale


class ActionAnovaState:
    """The action-ANOVA kernel on training rows; groups of columns leave one by one.

    Parameters
    ----------
    X : (n, c) array
        Standardised covariates and coded past actions, then the codes of the present action.
    groups : sequence of int arrays
        Columns of each group: one column for a covariate, all codes of a category or of a past action.
    past : sequence of bool
        Which groups are past actions.
    action : int array
        Columns of the present action.
    width : float or None
        Of the Gaussian half; None for the linear kernel.
    contrast_only : bool
        Groups leave the interactions with the present action only; all other terms stay.
    main : bool
        Whether a contrast-only kernel has these other terms at all.
    """

    bandwidth = 1.0
    kernel = None

    def __init__(
        self,
        X: np.ndarray,
        groups: Sequence[np.ndarray],
        past: Sequence[bool],
        action: np.ndarray,
        width: float | None = 1.5,
        contrast_only: bool = False,
        main: bool = True,
    ) -> None:
        self.X, self.groups, self.past, self.action = X, groups, list(past), action
        self.contrast_only, self.main = contrast_only, main
        self._matrices: tuple[np.ndarray, np.ndarray] | None = None
        self.active = list(range(len(groups)))
        self.maps = {g: self._make_map(X, g, width) for g in self.active if not self.past[g]}
        features = {g: self._map(X, g) for g in self.maps}
        length = max((f.shape[1] for f in features.values()), default=0)
        self.features = np.zeros((len(groups), len(X), length))
        for g, block in features.items():
            self.features[g, :, : block.shape[1]] = block
        self.codes = X[:, action]
        self.action_kernel = self.codes @ self.codes.T
        self._rebuild()
        self.fixed = self.action_kernel
        if contrast_only and main:
            others = self._past_kernel(self.active)
            self.fixed = self.action_kernel + self.smooth * (1.0 + others) + others

    def restrict(self, rows: Any = slice(None)) -> "ActionAnovaState":
        """The same kernel on some of the rows (its knots and centres stay those of all); groups may leave it
        without leaving this one.
        """
        other = copy.copy(self)
        other.active, other._matrices = list(self.active), None
        other.X, other.codes, other.features = self.X[rows], self.codes[rows], self.features[:, rows]
        for name in ("action_kernel", "smooth", "fixed"):
            setattr(other, name, getattr(self, name)[rows][:, rows])
        return other

    def _make_map(self, X: np.ndarray, group: int, width: float | None) -> ColumnFeatures | CategoryFeatures:
        columns = self.groups[group]
        return (
            ColumnFeatures(X[:, columns[0]], width) if len(columns) == 1 else CategoryFeatures(X[:, columns])
        )

    def _map(self, X: np.ndarray, group: int) -> np.ndarray:
        """Features of a group in some rows."""
        columns = self.groups[group]
        return self.maps[group](X[:, columns[0]] if len(columns) == 1 else X[:, columns])

    def _covariates(self, groups: Sequence[int]) -> list[int]:
        return [g for g in groups if not self.past[g]]

    def _sum(self, covariates: list[int]) -> np.ndarray:
        """Sum of the kernels of some covariates."""
        flat = np.swapaxes(self.features[covariates], 0, 1).reshape(len(self.X), -1)
        return flat @ flat.T

    def _rebuild(self) -> None:
        self.smooth = self._sum(self._covariates(self.active))
        self._built_at = len(self.active)

    def _code(self, group: int) -> np.ndarray:
        return self.X[:, self.groups[group]]

    def _past_kernel(self, groups: Sequence[int]) -> np.ndarray:
        codes = [self._code(g) for g in groups if self.past[g]]
        block = np.column_stack([np.zeros((len(self.X), 0)), *codes])
        return block @ block.T

    def gram(self) -> np.ndarray:
        """Kernel matrix of the active groups, a fresh array."""
        return self._present()[0].copy()

    def _present(self) -> tuple[np.ndarray, np.ndarray]:
        """Kernel matrix and what a covariate's kernel is multiplied with in it, until a group leaves."""
        if self._matrices is None:
            others = self._past_kernel(self.active)
            if self.contrast_only:
                partner = self.action_kernel
                whole = self.fixed + (self.smooth + others) * partner
            else:
                partner = 1.0 + self.action_kernel + others
                whole = self.fixed + self.smooth * partner + others * (1.0 + self.action_kernel)
            self._matrices = (whole, partner)
        return self._matrices

    def _partner(self) -> np.ndarray:
        """What a covariate's kernel is multiplied with, as a factor (n, r)."""
        if self.contrast_only:
            return self.codes
        past = [self._code(g) for g in self.active if self.past[g]]
        return np.column_stack([np.ones(len(self.X)), self.codes, *past])

    def without(self, group: int) -> np.ndarray:
        """Kernel matrix once ``group`` is removed as well."""
        if self.past[group]:
            code = self._code(group)
            partner = self.action_kernel
            if not self.contrast_only:
                partner = 1.0 + self.action_kernel + self.smooth
            return self._present()[0] - (code @ code.T) * partner
        whole, partner = self._present()
        block = self.features[group]
        removed = block @ block.T
        removed *= partner
        return np.subtract(whole, removed, out=removed)

    def shortcut(self, gram: np.ndarray, candidates: Sequence[int], dtype: Any) -> tuple:
        """All covariate removals at once through their features; see ``best_removals``."""
        positions = np.array([i for i, g in enumerate(candidates) if not self.past[g]], dtype=int)
        blocks = self.features[[candidates[i] for i in positions]].astype(dtype)
        matrix, factor = gram.astype(dtype, copy=False), self._partner().astype(dtype)

        def products(vectors: np.ndarray) -> np.ndarray:
            spread = factor[None] * vectors.T[:, :, None]
            inner = np.swapaxes(blocks, 1, 2) @ spread
            gone = np.einsum("jnr,nr->nj", blocks @ inner, factor)
            return matrix @ vectors - gone

        return positions, products, self.without

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self._matrices = None
        gone = set(groups)
        self.active = [g for g in self.active if g not in gone]
        if 2 * len(self.active) <= self._built_at:
            # Sums that have lost most of their terms have lost digits as well.
            self._rebuild()
            return
        self.smooth = self.smooth - self._sum(self._covariates(groups))

    def cross(self, Z: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Kernel between new rows and the training rows on some groups."""
        return next(self.cross_each([Z], groups))

    def cross_each(self, each: Sequence[np.ndarray], groups: Sequence[int]) -> Iterator[np.ndarray]:
        """As `cross`, of the same new rows under several actions: what is no action is worked out once."""
        smooth, others = self._cross_parts(each[0], groups)
        if self.contrast_only and self.main:
            whole, past = self._cross_parts(each[0], range(len(self.groups)))
            main = whole * (1.0 + past)
        for Z in each:
            codes = Z[:, self.action] @ self.codes.T
            if not self.contrast_only:
                yield codes + smooth * (1.0 + codes + others) + others * (1.0 + codes)
                continue
            contrast = codes + (smooth + others) * codes
            yield contrast + main + past if self.main else contrast

    def _cross_parts(self, Z: np.ndarray, groups: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        smooth, others = np.zeros((len(Z), len(self.X))), np.zeros((len(Z), len(self.X)))
        for g in groups:
            if self.past[g]:
                others += Z[:, self.groups[g]] @ self._code(g).T
            else:
                block = self._map(Z, g)
                smooth += block @ self.features[g, :, : block.shape[1]].T
        return smooth, others


class KeptState(AdditiveState):
    """A Gaussian kernel state in which some columns (the present action) belong to no group and stay."""

    def __init__(
        self, X: np.ndarray, groups: Sequence[np.ndarray], kept: np.ndarray, bandwidth: float,
        active: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.kept = kept
        super().__init__(GaussianKernel(), X, groups, bandwidth, active)

    def columns(self, groups: Sequence[int]) -> np.ndarray:
        """Column numbers of some groups and of what stays."""
        return np.concatenate([super().columns(groups), self.kept])


class ContrastState:
    """``K_main + k_a * (1 + K_active)``: Gaussian kernels of all groups and of those that may decide.

    ``main=False`` leaves the first out.

    Parameters
    ----------
    X, groups, action
        As for :class:`ActionAnovaState`.
    bandwidth : float
    """

    shortcut = None
    kernel = None

    def __init__(
        self,
        X: np.ndarray,
        groups: Sequence[np.ndarray],
        action: np.ndarray,
        bandwidth: float,
        main: bool = True,
    ) -> None:
        self.X, self.groups, self.action = X, groups, action
        self.state = AdditiveState(GaussianKernel(), X, groups, bandwidth)
        self.with_main = main
        self.full = self.state.total
        self.action_kernel = X[:, action] @ X[:, action].T

    @property
    def active(self) -> list[int]:
        """Groups still in the contrast."""
        return self.state.active

    @property
    def bandwidth(self) -> float:
        """Bandwidth of both kernels."""
        return self.state.bandwidth

    @bandwidth.setter
    def bandwidth(self, value: float) -> None:
        self.state.bandwidth = value

    def _main(self) -> np.ndarray | float:
        return self.state.kernel.link(self.full, self.bandwidth) if self.with_main else 0.0

    def gram(self) -> np.ndarray:
        """Kernel matrix of the active groups."""
        return self._main() + self.action_kernel * (1.0 + self.state.gram())

    def without(self, group: int) -> np.ndarray:
        """Kernel matrix once ``group`` is removed as well."""
        return self._main() + self.action_kernel * (1.0 + self.state.without(group))

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.state.drop(groups)

    def cross(self, Z: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Kernel between new rows and the training rows."""
        codes = Z[:, self.action] @ self.X[:, self.action].T
        everything = self.state.cross(Z, list(range(len(self.groups)))) if self.with_main else 0.0
        return everything + codes * (1.0 + self.state.cross(Z, groups))
