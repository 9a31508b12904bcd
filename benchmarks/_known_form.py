"""What a test could say of classes that knew all of their model but its columns.

Some columns have coefficients of one or minus one, and every choice of columns and signs is as probable as
any other. The odds of that against a fair coin are the best statistic there is among those that treat columns
and signs alike (Neyman and Pearson), and the probabilities of columns give the subset of largest expected F1.
Both by annealed importance sampling: chains of subsets that swap one member at a time, from the prior to the
posterior, and on from there.
"""

from itertools import pairwise

import numpy as np

__all__ = ["known_form"]

STEPS, CHAINS = 2000, 64
# of the proposals, those that do not ask how much the classes move with a column
BLIND = 0.3


class Chains:
    """Chains of subsets with signs, some for each response.

    Parameters
    ----------
    X : array of shape (n, p)
    classes : array of shape (m, n), of 0 and 1
    size : int
        Members of a subset.
    rng : Generator
    """

    def __init__(self, X, classes, size, rng):
        n, self.p = X.shape
        self.rng, self.size = rng, size
        # a column and its negative are two candidates
        self.signed = np.concatenate([X, -X], axis=1).T.astype(np.float32)
        sides = 2.0 * classes - 1.0
        moves = (sides - sides.mean(axis=1, keepdims=True)) @ self.signed.T / np.sqrt(n)
        share = np.exp(np.clip(moves, -1.0, 5.0))
        share = BLIND / share.shape[1] + (1.0 - BLIND) * share / share.sum(axis=1, keepdims=True)
        # one after the other, those of the k-th response from k to k + 1
        edges = np.minimum(np.cumsum(share, axis=1), 1.0) + np.arange(len(share))[:, None]
        self.share, self.edges = np.log(share), edges.ravel()
        self.response = np.repeat(np.arange(len(classes)), CHAINS)
        self.sides = sides[self.response].astype(np.float32)
        members = np.argsort(rng.random((len(self.response), self.p)), axis=1)[:, :size]
        self.members = members + self.p * rng.integers(0, 2, members.shape)
        self.score = self.signed[self.members].sum(axis=1)
        self.fit = self.log_likelihood(self.score)

    def log_likelihood(self, score):
        return -np.log1p(np.exp(-self.sides * score)).sum(axis=1, dtype=np.float64)

    def move(self, heat):
        """One member of each chain may give its place, at this power of the likelihood."""
        every = np.arange(len(self.members))
        slot = self.rng.integers(self.size, size=len(every))
        gone, point = self.members[every, slot], self.rng.random(len(every))
        come = np.searchsorted(self.edges, self.response + point) - 2 * self.p * self.response
        come = np.clip(come, 0, 2 * self.p - 1)
        same = self.members % self.p == (come % self.p)[:, None]
        same[every, slot] = False
        score = self.score + self.signed[come] - self.signed[gone]
        fit = self.log_likelihood(score)
        odds = heat * (fit - self.fit) + self.share[self.response, gone] - self.share[self.response, come]
        taken = ~same.any(axis=1) & (np.log(self.rng.random(len(every))) < odds)
        self.members[taken, slot[taken]] = come[taken]
        self.score[taken], self.fit[taken] = score[taken], fit[taken]

    def keep(self, chosen):
        """Go on from other chains of the same response."""
        self.members, self.score, self.fit = self.members[chosen], self.score[chosen], self.fit[chosen]


def known_form(X, classes, size, rng, probable=False):
    """Log odds of the known form for each response and, if asked, how probable it makes each column.

    Parameters
    ----------
    X : array of shape (n, p)
    classes : array of shape (m, n), of 0 and 1
    size : int
        Columns with a coefficient.
    rng : Generator
    probable : bool

    Returns
    -------
    array of shape (m,), and one of shape (m, p) or None
    """
    chains = Chains(X, classes, size, rng)
    heats = np.linspace(0.0, 1.0, STEPS + 1)
    weight = np.zeros(len(chains.members))
    for before, heat in pairwise(heats):
        weight += (heat - before) * chains.fit
        chains.move(heat)
    weight = weight.reshape(len(classes), CHAINS)
    highest = weight.max(axis=1, keepdims=True)
    relative = np.exp(weight - highest)
    odds = highest[:, 0] + np.log(relative.mean(axis=1)) + X.shape[0] * np.log(2.0)
    if not probable:
        return odds, None
    shares = relative / relative.sum(axis=1, keepdims=True)
    chains.keep(np.concatenate([k * CHAINS + rng.choice(CHAINS, CHAINS, p=w) for k, w in enumerate(shares)]))
    counts = np.zeros((len(classes), X.shape[1]))
    for _ in range(STEPS // 2):
        chains.move(1.0)
        np.add.at(counts, (chains.response[:, None], chains.members % chains.p), 1.0)
    return odds, counts / (CHAINS * (STEPS // 2))
