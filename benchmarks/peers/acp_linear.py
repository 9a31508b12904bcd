"""The Actor-Critic-Predictor with the linear predictor, as where the paper knows that the truth is linear."""

import numpy as np

from peers import acp

NAME = "ACP, linear"
FAMILIES = ("gaussian",)

available = acp.available


def select(X, y, family, *, seed):
    return acp.fitted(X, y, family, seed, predictor="linear").support_


def rank(X, y, family, *, seed):
    return np.argsort(acp.fitted(X, y, family, seed, predictor="linear").ranking_)
