"""What RiskRFE is given, made regular: groups of columns, cycles, weights, scaling and a sound kernel."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["check_gram", "check_weights", "column_scale", "make_cycle", "parse_feature_groups"]


def parse_feature_groups(feature_groups: Any, n_features: int, names: Any = None) -> list[np.ndarray]:
    """List of column-number arrays from None, labels, lists of columns or a mapping of lists.

    A flat sequence of ``n_features`` labels puts equal labels together. A list of lists (or a mapping) names
    columns by number or by name; columns it leaves out are groups of their own.
    """
    if feature_groups is None:
        return [np.array([j]) for j in range(n_features)]
    if isinstance(feature_groups, Mapping):
        feature_groups = list(feature_groups.values())
    items = list(feature_groups)
    if items and all(np.ndim(item) == 0 for item in items):
        if len(items) != n_features:
            raise ValueError(
                f"feature_groups has {len(items)} labels but X has {n_features} features; give one label a "
                f"feature, or "
                "a list of lists of columns"
            )
        labels = list(dict.fromkeys(items))
        return [np.array([j for j, item in enumerate(items) if item == label]) for label in labels]
    places = {} if names is None else {name: j for j, name in enumerate(names)}
    groups = [np.array(sorted(_column(c, n_features, places) for c in item), dtype=int) for item in items]
    flat = np.concatenate(groups) if groups else np.empty(0, dtype=int)
    if len(np.unique(flat)) != len(flat):
        raise ValueError("feature_groups names a column twice; every column belongs to one group")
    groups = [g for g in groups if len(g)]
    groups += [np.array([j]) for j in range(n_features) if j not in set(flat.tolist())]
    return sorted(groups, key=lambda g: g[0])


def _column(column: Any, n_features: int, places: dict) -> int:
    if isinstance(column, str):
        if column not in places:
            raise ValueError(f"feature_groups names {column!r}, which is not a column of X")
        return places[column]
    if not 0 <= int(column) < n_features:
        raise ValueError(f"feature_groups names column {column}, but X has columns 0 to {n_features - 1}")
    return int(column)


def make_cycle(step: Any) -> Callable[[int], int]:
    """Number of groups to remove, as a function of how many are left."""
    if callable(step):

        def adaptive(left: int) -> int:
            count = step(left)
            if not isinstance(count, (int, np.integer)) or count < 1:
                raise ValueError(f"step({left}) returned {count!r}; it must return an integer >= 1")
            return int(count)

        return adaptive
    if isinstance(step, (int, np.integer)) and not isinstance(step, bool) and step >= 1:
        fixed = int(step)
        return lambda left: fixed
    if isinstance(step, (float, np.floating)) and 0.0 < step < 1.0:
        share = float(step)
        return lambda left: max(1, int(share * left))
    raise ValueError(
        f"step={step!r} must be an integer >= 1, a fraction of the remaining features in (0, 1) or a callable"
    )


def column_scale(X: np.ndarray, weights: np.ndarray, standardize: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of the columns (0 and 1 when X is used as given)."""
    if not standardize:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    total = weights.sum()
    centre = weights @ X / total
    scale = np.sqrt(weights @ np.square(X - centre) / total)
    # A column that is constant up to rounding is left alone rather than blown up.
    scale[scale <= 1e-12 * np.maximum(np.abs(centre), 1e-300)] = 1.0
    return centre, scale


def check_gram(gram: np.ndarray, n: int) -> None:
    """Refuse a user's kernel matrix that is not finite, square, symmetric and positive semi-definite."""
    if gram.shape != (n, n):
        raise ValueError(f"the kernel returned shape {gram.shape} for {n} rows; it must return ({n}, {n})")
    if not np.isfinite(gram).all():
        raise ValueError("the kernel returned NaN or infinite values; check it on a pair of rows of X")
    size = max(float(np.abs(gram).max()), 1e-300)
    if float(np.abs(gram - gram.T).max()) > 1e-8 * size:
        raise ValueError("the kernel is not symmetric: k(x, z) and k(z, x) differ; average the two")
    smallest = float(np.linalg.eigvalsh(gram)[0])
    if smallest < -1e-8 * n * size:
        raise ValueError(
            f"the kernel is not positive semi-definite: its matrix on X has the eigenvalue {smallest:.3g}; "
            f"a kernel "
            "machine needs all eigenvalues >= 0 (for example exp(-distance^2) instead of the distance itself)"
        )


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Row weights as floats: ones by default, else n finite numbers >= 0, two at least positive."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n},): one weight a row")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError("sample_weight must hold finite numbers >= 0; Negative values or NaN were found")
    if not weights.any():
        raise ValueError("every sample_weight is zero; give at least two rows a positive one")
    if (weights > 0).sum() < 2:
        raise ValueError(
            f"{int((weights > 0).sum())} rows have a positive sample_weight; at least 2 are needed"
        )
    return weights
