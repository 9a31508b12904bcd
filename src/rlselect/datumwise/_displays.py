"""Pictures of what cases needed: accuracy against sparsity, the use of features and of image blocks."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rlselect.data import TableEncoder
from rlselect.datumwise._classifier import DatumwiseClassifier
from rlselect.datumwise._peers import PEERS, PeerPath
from rlselect.report import Display, PanelDisplay

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

    Attributes
    ----------
    ax_ : the axes drawn on
    figure_ : their figure
    """

    def __init__(self, curves: Mapping[str, Mapping[str, Any]]) -> None:
        self.curves = {name: dict(curve) for name, curve in curves.items()}

    @classmethod
    def from_estimator(
        cls,
        estimator: DatumwiseClassifier,
        X: Any,
        y: Any,
        *,
        X_test: Any,
        y_test: Any,
        feature_costs: Iterable[float] = _PRICES,
        peers: Iterable[str] = ("cart", "l1-svm", "lars"),
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Fit a classifier at several prices, and its peers along their paths; draw them on test rows.

        Parameters
        ----------
        estimator : DatumwiseClassifier
            Cloned at each price, or once if its scores come from networks; it need not be fitted. A fitted
            one has its `frontier`, which `from_curves` draws.
        X, y : training rows and their classes
            Without gaps when there are peers, as they need whole rows; they see a category as indicators.
        X_test, y_test : test rows and their classes
        feature_costs : iterable of float
            Prices of a feature.
        peers : iterable of {"cart", "l1-svm", "lars", "forest"}
            Trees pruned step by step, two linear models along their L1 path, and a forest on the columns that
            a first one finds most important, on columns scaled by the training rows.
        random_state : int, default=0
            Seed of the peers.
        ax : matplotlib axes, optional

        Returns
        -------
        FrontierDisplay
        """
        peers = list(peers)
        unknown = [name for name in peers if name not in PEERS]
        if unknown:
            raise ValueError(
                f"peers={peers!r} was given; {unknown[0]!r} is none of {', '.join(map(repr, PEERS))}."
            )
        if estimator.costs is not None:
            raise ValueError(
                "the frontier varies feature_cost, but this classifier has costs=...; set costs=None."
            )
        prices = [float(price) for price in feature_costs]
        if not prices:
            raise ValueError("feature_costs is empty; give at least one price.")
        if estimator.scoring == "network":  # which learns all prices at once
            once = clone(estimator).fit(X, y)
            models = [once.at(feature_cost=price) for price in prices]
        else:
            models = [clone(estimator).set_params(feature_cost=price).fit(X, y) for price in prices]
        points = [
            (np.mean(m.predict(X_test) == np.asarray(y_test)), 1 - m.acquire(X_test).mean()) for m in models
        ]
        curves = {"datum-wise": _curve(prices, points)}
        for name in peers:
            path = PEERS[name]
            curves[path.name] = _peer_curve(path, X, y, X_test, y_test, random_state)
        return cls(curves).plot(ax=ax)

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

    def _size(self) -> tuple[float, float]:
        return (5.0, 4.0)

    def _draw(self, ax: Any) -> None:
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
                fmt="o-" if place == 0 else "-",
                markersize=3,
                linewidth=1.8 if place == 0 else 1.0,
                elinewidth=0.7,
                label=name,
            )
        classes = any("accuracy" in curve for curve in self.curves.values())
        ax.set(
            xlabel="sparsity: mean share of features not needed",
            ylabel="accuracy" if classes else "R squared",
        )
        ax.legend()


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


class FeatureUseDisplay(PanelDisplay):
    """How many cases needed each feature, and how many features a case needed (Figure 4 of the paper).

    Made by :meth:`from_estimator`.

    Parameters
    ----------
    used : dict
        Name of a method -> boolean array, cases x features.
    feature_names : sequence of str

    Attributes
    ----------
    axes_ : pair of axes: use of each feature, number of features per case
    figure_ : their figure
    """

    def __init__(self, used: Mapping[str, Any], feature_names: Iterable[Any]) -> None:
        self.used = {name: np.asarray(mask, dtype=bool) for name, mask in used.items()}
        self.feature_names = [str(name) for name in feature_names]

    @classmethod
    def from_estimator(
        cls,
        estimator: DatumwiseClassifier,
        X: Any,
        *,
        others: Mapping[str, Any] | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw what a fitted classifier buys for the rows of X.

        Parameters
        ----------
        estimator : DatumwiseClassifier
        X : rows
        others : dict, optional
            Name -> what another method uses: one boolean for each feature, or rows x features.
        axes : pair of matplotlib axes, optional

        Returns
        -------
        FeatureUseDisplay
        """
        check_is_fitted(estimator)
        ours = estimator.acquire(X)
        used = {"datum-wise": ours}
        for name, mask in (others or {}).items():
            mask = np.asarray(mask, dtype=bool)
            if mask.shape not in (ours.shape, ours.shape[1:]):
                raise ValueError(
                    f"others[{name!r}] has shape {mask.shape}; it must be {ours.shape[1:]} or {ours.shape}."
                )
            used[name] = np.broadcast_to(mask, ours.shape)
        return cls(used, feature_names(estimator)).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return 2, 2

    def _draw(self, axes: list[Any]) -> None:
        n_features = len(self.feature_names)
        width = 0.8 / len(self.used)
        for place, (name, mask) in enumerate(self.used.items()):
            shift = (place - (len(self.used) - 1) / 2) * width
            axes[0].bar(np.arange(n_features) + shift, mask.mean(axis=0), width, label=name)
            share = np.bincount(mask.sum(axis=1), minlength=n_features + 1) / len(mask)
            axes[1].bar(np.arange(n_features + 1) + shift, share, width, label=name)
        axes[0].set(xlabel="feature", ylabel="share of cases that needed it", ylim=(0, 1.02))
        axes[1].set(xlabel="features needed", ylabel="share of cases")
        if n_features <= 20:
            axes[0].set_xticks(range(n_features), self.feature_names, rotation=60, ha="right")
            axes[1].set_xticks(range(n_features + 1))
        for ax in axes:
            ax.legend()


def feature_names(estimator: DatumwiseClassifier) -> list[str]:
    """Names seen at fit, x0, x1, ... when there were none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(n) for n in names]


class BlockUseDisplay(PanelDisplay):
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
        Mean share of the pixels not needed.

    Attributes
    ----------
    axes_ : list of axes, one per class
    figure_ : their figure
    """

    def __init__(self, use: NDArray, images: NDArray, labels: Iterable[Any], sparsity: NDArray) -> None:
        self.use, self.images, self.labels, self.sparsity = use, images, list(labels), sparsity

    @classmethod
    def from_estimator(
        cls, estimator: DatumwiseClassifier, X: Any, y: Any, *, shape: tuple[int, int], axes: Any = None
    ) -> Self:
        """Draw a fitted classifier of images.

        Parameters
        ----------
        estimator : DatumwiseClassifier
        X : rows, one pixel per column in row-major order
        y : classes
        shape : (height, width) of an image
        axes : sequence of matplotlib axes, one per class, optional

        Returns
        -------
        BlockUseDisplay
        """
        check_is_fitted(estimator)
        pixels, y = np.asarray(X, dtype=float), np.asarray(y)
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
            unused.append(1.0 - share.mean())
        return cls(np.array(use), np.array(images), estimator.classes_, np.array(unused)).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return len(self.labels), min(len(self.labels), 5)

    def _panel_size(self) -> tuple[float, float]:
        return (1.7, 2.0)

    def _draw(self, axes: list[Any]) -> None:
        for place, (ax, label) in enumerate(zip(axes, self.labels, strict=True)):
            # the image stays visible where nothing was looked at
            shown = np.clip(0.75 * self.use[place] + 0.35 * self.images[place], 0.0, 1.0)
            ax.imshow(shown, cmap="gray", vmin=0.0, vmax=1.0)
            ax.set(title=str(label), xlabel=f"{self.sparsity[place]:.2f}", xticks=[], yticks=[])
