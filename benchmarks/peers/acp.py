"""The Actor-Critic-Predictor of this library, with its defaults."""

import numpy as np

from peers._installed import installed

NAME = "ACP"
FAMILIES = ("gaussian", "binomial", "multinomial")


def available():
    return installed("rlselect.subset")


def select(X, y, family, *, seed):
    return fitted(X, y, family, seed).support_


def rank(X, y, family, *, seed):
    """Columns, best first."""
    return np.argsort(fitted(X, y, family, seed).ranking_)


def fitted(X, y, family, seed, **options):
    from rlselect import ActorCriticPredictor

    task = "regression" if family == "gaussian" else "classification"
    return ActorCriticPredictor(task=task, random_state=seed, **options).fit(X, y)
