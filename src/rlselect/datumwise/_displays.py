"""Pictures of what cases needed: accuracy against sparsity, the use of features and of image blocks."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rlselect.data import TableEncoder
from rlselect.datumwise._peers import PEERS, PeerPath
from rlselect.report import (
    TEXT,
    Display,
    NotDrawnError,
    colour,
    draw_names,
    label_axes,
    line_style,
    name_room,
    names_height,
    short_name,
    shown_of,
)

__all__ = ["BlockUseDisplay", "FeatureUseDisplay", "FrontierDisplay"]

_PRICES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)


class FrontierDisplay(Display):
    """Accuracy against sparsity, the mean share of the features that a case did not need.

    Made by :meth:`from_estimator` or, from curves that are already there, by :meth:`from_curves`.

    Parameters
    ----------
    curves : dict
        Name -> dict with the arrays ``sparsity`` and ``accuracy`` (or ``r2``) and, if known, ``setting`` and
        the standard errors ``sparsity_error`` and ``accuracy_error``.
    """

    def __init__(self, curves: Mapping[str, Mapping[str, Any]]) -> None:
        self.curves = {name: dict(curve) for name, curve in curves.items()}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        train: tuple[Any, Any] | None = None,
        feature_costs: Iterable[float] = _PRICES,
        peers: Iterable[str] = ("cart", "l1-svm", "lars"),
        random_state: int = 0,
    ) -> Self:
        """Draw the frontier of a fit or, with training rows, of fits at several prices and of peers.

        Parameters
        ----------
        estimator : DatumwiseClassifier or DatumwiseRegressor
            Fitted; its `frontier` on the cases is drawn. With `train` it need not be fitted: a classifier is
            cloned at each price, or once if its scores come from networks.
        X, y : cases and their true answers
            Best ones that took no part in `fit`.
        ax : matplotlib axes or figure, optional
            Where to draw.
        train : (X, y), optional
            Training rows, for fits at each price and for the peers beside them. Without gaps when there are
            peers, as they need whole rows; they see a category as indicators.
        feature_costs : iterable of float
            Prices of a feature, with `train`.
        peers : iterable of {"cart", "l1-svm", "lars", "forest"}
            With `train`: trees pruned step by step, two linear models along their L1 path, and a forest on
            the columns that a first one finds most important, on columns scaled by the training rows.
        random_state : int, default=0
            Seed of the peers.

        Returns
        -------
        FrontierDisplay
        """
        if X is None or y is None:
            raise NotDrawnError(
                "The frontier is measured on cases: give X and y, best others than those of fit."
            )
        if train is None:
            check_is_fitted(estimator)
            return cls({"datum-wise": estimator.frontier(X, y)}).plot(ax=ax)
        prices, names = [float(price) for price in feature_costs], list(peers)
        _check_frontier(estimator, prices, names)
        # the peers first: they refuse gaps at once, before anything is learnt for minutes
        others = {PEERS[name].name: _peer_curve(PEERS[name], *train, X, y, random_state) for name in names}
        return cls({"datum-wise": _own_curve(estimator, prices, train, X, y), **others}).plot(ax=ax)

    @classmethod
    def from_curves(cls, curves: Mapping[str, Mapping[str, Any]], *, ax: Any = None) -> Self:
        """Draw curves that were measured elsewhere, means over many splits say.

        Parameters
        ----------
        curves : dict
            As for the constructor.
        ax : matplotlib axes, optional

        Returns
        -------
        FrontierDisplay
        """
        for name, curve in curves.items():
            heights = curve.get("accuracy", curve.get("r2"))
            if heights is None or len(curve.get("sparsity", ())) != len(heights):
                raise ValueError(
                    f"the curve {name!r} must hold sparsity and accuracy (or r2) of equal length."
                )
        return cls(curves).plot(ax=ax)

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        for place, (name, curve) in enumerate(self.curves.items()):
            unused = np.asarray(curve["sparsity"], float)
            accuracy = np.asarray(curve["accuracy"] if "accuracy" in curve else curve["r2"], float)
            order = np.lexsort((accuracy, unused))
            errors = [curve.get(key) for key in ("sparsity_error", "accuracy_error")]
            wide, high = (None if e is None else np.asarray(e)[order] for e in errors)
            ax.errorbar(
                unused[order],
                accuracy[order],
                xerr=wide,
                yerr=high,
                marker="o" if place == 0 else "",
                markersize=3,
                linewidth=1.8 if place == 0 else 1.0,
                elinewidth=0.7,
                label=short_name(name),
                **line_style(place),
            )
        classes = any("accuracy" in curve for curve in self.curves.values())
        label_axes(ax, "sparsity: mean share of features not needed", "accuracy" if classes else "R squared")
        ax.legend(fontsize=TEXT)


def _check_frontier(estimator: Any, prices: list[float], peers: list[str]) -> None:
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise ValueError(
            f"peers={peers!r} was given; {unknown[0]!r} is none of {', '.join(map(repr, PEERS))}."
        )
    if estimator.costs is not None:
        raise ValueError(
            "the frontier varies feature_cost, but this classifier has costs=...; set costs=None."
        )
    if not prices:
        raise ValueError("feature_costs is empty; give at least one price.")


def _own_curve(
    estimator: Any, prices: list[float], train: tuple[Any, Any], X: Any, y: Any
) -> dict[str, NDArray]:
    """Fits at several prices, judged by cases."""
    if estimator.scoring == "network":  # which learns all prices at once
        once = clone(estimator).fit(*train)
        models = [once.at(feature_cost=price) for price in prices]
    else:
        models = [clone(estimator).set_params(feature_cost=price).fit(*train) for price in prices]
    points = [(np.mean(m.predict(X) == np.asarray(y)), 1 - m.acquire(X).mean()) for m in models]
    return _curve(prices, points)


def _curve(settings: list[float], points: list[tuple[float, float]]) -> dict[str, NDArray]:
    accuracy, unused = np.array(points, dtype=float).T
    return {"setting": np.array(settings), "accuracy": accuracy, "sparsity": unused}


def _peer_curve(path: PeerPath, X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> dict[str, NDArray]:
    try:
        encoder = TableEncoder().fit(X)
        X, X_test, y = _dense(encoder.transform(X)), _dense(encoder.transform(X_test)), np.asarray(y)
    except ValueError as error:
        raise ValueError(f"{path.name} needs whole rows; fill them in, or peers=(). {error}") from None
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    # a feature is needed as soon as one of its indicators is
    owner = np.arange(encoder.n_features_in_) == encoder.column_feature_[:, None]
    settings, points = path.settings(X, y), []
    for setting in settings:
        labels, used = path.fit(X, y, setting, seed)(X_test)
        points.append((np.mean(labels == np.asarray(y_test)), 1 - (used @ owner).mean()))
    return _curve(settings, points)


def _dense(X: Any) -> NDArray:
    return X.toarray() if sparse.issparse(X) else X


class FeatureUseDisplay(Display):
    """What was selected: how many cases needed each feature, and how many features a case needed.

    Made by :meth:`from_estimator` (Figure 4 of the paper).

    Parameters
    ----------
    used : dict
        Name of a method -> boolean array, cases x features; or shares of the cases (features,), of which
        nothing is known but that.
    feature_names : sequence of str
    most : int, default=25
        Features that are drawn at most, those that most cases needed.
    """

    def __init__(self, used: Mapping[str, Any], feature_names: Iterable[Any], most: int = 25) -> None:
        self.used = {name: np.asarray(mask) for name, mask in used.items()}
        self.feature_names = [str(name) for name in feature_names]
        self.most = most

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        others: Mapping[str, Any] | None = None,
        most: int = 25,
    ) -> Self:
        """Draw what a fitted estimator buys.

        Parameters
        ----------
        estimator : DatumwiseClassifier or DatumwiseRegressor
            Fitted.
        X : rows, optional
            Cases; those of `fit` by default, of which only the shares are known.
        y : ignored
            What is bought does not depend on it.
        ax : matplotlib axes, a pair of them, or a figure, optional
            Where to draw.
        others : dict, optional
            Name -> what another method uses: one boolean for each feature, or, with X, rows x features.
        most : int, default=25
            Features that are drawn at most.

        Returns
        -------
        FeatureUseDisplay
        """
        check_is_fitted(estimator)
        ours = estimator.inclusion_ if X is None else estimator.acquire(X)
        used = {"datum-wise": ours}
        for name, mask in (others or {}).items():
            mask = np.asarray(mask, dtype=bool)
            if mask.shape not in (ours.shape, ours.shape[-1:]):
                allowed = " or ".join(map(str, dict.fromkeys((ours.shape[-1:], ours.shape))))
                raise ValueError(f"others[{name!r}] has shape {mask.shape}; it must be {allowed}.")
            used[name] = np.broadcast_to(mask, ours.shape)
        return cls(used, feature_names(estimator), most).plot(ax=ax)

    def _knows_cases(self) -> bool:
        return all(mask.ndim == 2 for mask in self.used.values())

    def _panels(self) -> tuple[int, int]:
        return (2, 2) if self._knows_cases() else (1, 1)

    def _panel_size(self) -> tuple[float, float]:
        lines = min(len(self.feature_names), self.most) * (1 + (len(self.used) > 1))
        return (4.8, names_height(lines))

    def _draw(self, axes: list[Any]) -> None:
        shares = {name: np.atleast_2d(mask).mean(axis=0) for name, mask in self.used.items()}
        largest = np.max(list(shares.values()), axis=0)
        order = np.argsort(-largest, kind="stable")[: min(self.most, name_room(axes[0]))]
        width = 0.8 / len(self.used)
        for place, (name, share) in enumerate(shares.items()):
            shift = (place - (len(self.used) - 1) / 2) * width
            tone = {"color": colour(place), "label": short_name(name)}
            axes[0].barh(np.arange(len(order)) + shift, share[order], width, **tone)
        draw_names(axes[0], [self.feature_names[j] for j in order])
        axes[0].set_xlim(0.0, 1.0)
        used = int((largest > 0).sum())
        title = f"{used} of {len(largest)} are used{shown_of(len(order), len(largest))}"
        label_axes(axes[0], "share of cases that needed it", title=title)
        if self._knows_cases():
            self._draw_numbers(axes[1], width)
        if len(self.used) > 1:
            axes[-1].legend(fontsize=TEXT)

    def _draw_numbers(self, ax: Any, width: float) -> None:
        most = max(int(mask.sum(axis=1).max(initial=0)) for mask in self.used.values())
        for place, (name, mask) in enumerate(self.used.items()):
            shift = (place - (len(self.used) - 1) / 2) * width
            share = np.bincount(mask.sum(axis=1).astype(int), minlength=most + 1) / max(len(mask), 1)
            tone = {"color": colour(place), "label": short_name(name)}
            ax.bar(np.arange(most + 1) + shift, share, width, **tone)
        ax.xaxis.get_major_locator().set_params(integer=True)
        label_axes(ax, "features needed", "share of cases", "How many a case needs")


def feature_names(estimator: Any) -> list[str]:
    """Names seen at fit, x0, x1, ... when there were none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(n) for n in names]


class BlockUseDisplay(Display):
    """Which parts of an image are looked at before a class is named rightly (Figure 8 of the paper).

    One picture per class: a sample image of it under the share of its rightly named cases that looked at each
    pixel. Lighter is more often. Made by :meth:`from_estimator`.

    Parameters
    ----------
    use : (classes, height, width) array
        Share of the cases that needed each pixel.
    images : (classes, height, width) array
        A sample of each class, between 0 and 1.
    labels : sequence
        Classes.
    sparsity : (classes,) array
        Mean share of the pixels not needed; NaN for a class that is never named rightly.
    """

    def __init__(self, use: NDArray, images: NDArray, labels: Iterable[Any], sparsity: NDArray) -> None:
        self.use, self.images, self.labels, self.sparsity = use, images, list(labels), sparsity

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        shape: tuple[int, int] | None = None,
    ) -> Self:
        """Draw a fitted classifier of images.

        Parameters
        ----------
        estimator : DatumwiseClassifier
            Fitted.
        X : rows
            One pixel per column in row-major order.
        y : classes
        ax : sequence of matplotlib axes, one per class, or a figure, optional
            Where to draw.
        shape : (height, width) of an image, optional
            A square by default.

        Returns
        -------
        BlockUseDisplay
        """
        if X is None or y is None:
            raise NotDrawnError("Where a classifier looks is seen on images: give X and y.")
        check_is_fitted(estimator)
        pixels, y = np.asarray(X, dtype=float), np.asarray(y)
        side = round(pixels.shape[1] ** 0.5)
        shape = (side, side) if shape is None else shape
        if shape[0] * shape[1] != pixels.shape[1]:
            raise ValueError(
                f"shape={shape} has {shape[0] * shape[1]} pixels, X has {pixels.shape[1]} columns."
            )
        used, right = estimator.acquire(X), estimator.predict(X) == y
        low, high = pixels.min(), pixels.max()
        use, images, unused = [], [], []
        for label in estimator.classes_:
            rows = np.flatnonzero((y == label) & right)
            share = used[rows].mean(axis=0) if len(rows) else np.zeros(pixels.shape[1])
            # the case nearest to the mean image shows the class best
            own = pixels[rows] if len(rows) else np.zeros((1, pixels.shape[1]))
            sample = own[np.argmin(((own - own.mean(axis=0)) ** 2).sum(axis=1))]
            use.append(share.reshape(shape))
            images.append(((sample - low) / max(high - low, 1e-300)).reshape(shape))
            unused.append(1.0 - share.mean() if len(rows) else np.nan)
        return cls(np.array(use), np.array(images), estimator.classes_, np.array(unused)).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return len(self.labels), min(len(self.labels), 5)

    def _panel_size(self) -> tuple[float, float]:
        return (1.7, 2.2)

    def _draw(self, axes: list[Any]) -> None:
        for place, (ax, label) in enumerate(zip(axes, self.labels, strict=True)):
            # the image stays visible where nothing was looked at
            shown = np.clip(0.75 * self.use[place] + 0.35 * self.images[place], 0.0, 1.0)
            ax.imshow(shown, cmap="gray", vmin=0.0, vmax=1.0)
            unused = self.sparsity[place]
            told = "never named" if np.isnan(unused) else f"{unused:.0%} not needed"
            ax.set(title=str(label), xlabel=told, xticks=[], yticks=[])
