"""The rivals of the ACP paper and readings of its own algorithm, all of them selectors of this library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from peers._installed import installed

__all__ = ["ACP_LITERAL", "ACP_PUBLISHED", "CFS", "FSTD", "FSTD_SHORT", "FUSE", "TVS", "TVS_TREES"]


@dataclass(frozen=True)
class Rival:
    """A selector as a peer; the paper selects arms of Thompson sampling above .9, and values above 0."""

    NAME: str
    make: Callable[..., Any]
    FAMILIES: tuple[str, ...] = ("gaussian", "binomial", "multinomial")

    def available(self):
        return installed("rlselect.subset")

    def select(self, X, y, family, *, seed):
        return self._fitted(X, y, family, seed).support_

    def rank(self, X, y, family, *, seed):
        return np.argsort(self._fitted(X, y, family, seed).ranking_)

    def _fitted(self, X, y, family, seed):
        task = "regression" if family == "gaussian" else "classification"
        selector = self.make(task=task)
        if "random_state" in selector.get_params():
            selector.set_params(random_state=seed)
        return selector.fit(X, y)


def _of(name, **options):
    def make(**task):
        import rlselect

        maker = rlselect
        for part in name.split("."):
            maker = getattr(maker, part)
        return maker(**options, **task)

    return make


TVS = Rival("TVS, linear reward", _of("ThompsonSelector", threshold=0.9), ("gaussian", "binomial"))
TVS_TREES = Rival("TVS, forest reward", _of("ThompsonSelector", threshold=0.9, reward="trees", n_rounds=200))
FSTD = Rival("FSTD", _of("FSTD"))
# thousands of rows take minutes with all 2,000 games
FSTD_SHORT = Rival("FSTD, 400 games", _of("FSTD", n_games=400))
FUSE = Rival("FUSE", _of("FUSE"))
CFS = Rival("CFS", _of("CorrelationFeatureSelection"))
_PAPER = "ActorCriticPredictor.paper"
ACP_LITERAL = Rival("ACP.paper, linear", _of(_PAPER, predictor="linear"), ("gaussian",))
ACP_PUBLISHED = Rival(
    'ACP.paper, linear, reading="published"',
    _of(_PAPER, predictor="linear", reading="published"),
    ("gaussian",),
)
