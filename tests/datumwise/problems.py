"""Rows, problems and policies that several tests of the room are about."""

import numpy as np

from rlselect.datumwise import PolicyIteration, _folds, _improve
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._network_inputs import ScoreEncoder
from rlselect.datumwise._network_training import Lessons
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._rules import PurchaseRules

FAST = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)


def make_data(seed=0, n=150, d=7, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.stack([X[:, k] + 0.5 * X[:, (k + 1) % d] for k in range(n_classes)], axis=1)
    return X, np.array(["ash", "elm", "oak"])[score.argmax(axis=1)]


def make_problem(n_rows, n_features, price, n_bins=5, effect=1.0, budget=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (effect * X[:, :4].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(np.intp)
    rules = PurchaseRules(
        names=list(range(n_features)),
        groups=[np.array([j]) for j in range(n_features)],
        prices=np.full(n_features, price),
        losses=1 - np.eye(2),
        budget=budget,
    )
    encoder = make_encoder("bins", n_bins).fit(X, np.ones(n_rows))
    closed = np.zeros(X.shape, dtype=bool)
    return PurchaseProblem(rules, encoder, encoder.encode(X), closed, y, np.ones(n_rows))


def improved(problem, settings, folds):
    """Policies after one iteration from the one that buys nothing."""
    rng = np.random.default_rng(1)
    policies = _improve.first_policies(problem, settings, folds, rng, -1e30)
    last, _ = _folds.evaluate(problem, policies, folds)
    return _improve.improve(problem, settings, policies, last, folds, rng)


COLOURS = ["amber", "blue", "cyan", "dun", "ecru", "fawn", "green", "hazel"]


def make_columns(n=300, seed=0):
    """The colour says whether the lamp or the weight tells the class; its order says nothing."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(COLOURS, n)
    lamp = rng.random(n) < 0.5
    weight = rng.normal(size=n)
    y = np.where(np.isin(colour, ["blue", "dun", "fawn", "hazel"]), lamp, weight > 0)
    return {"weight": weight, "colour": colour, "lamp": lamp, "noise": rng.normal(size=n)}, np.where(
        y, "yes", "no"
    )


N, D, C = 25, 6, 3


CHAIN = (np.eye(D, k=1) + np.eye(D, k=-1)).astype(bool)


NEEDS = np.zeros((D, D), dtype=bool)


NEEDS[2, 0] = NEEDS[3, [1, 2]] = True


RULES = {
    "plain": {},
    "budget": {"budget": 2},
    "no budget at all": {"budget": 0},
    "cost budget": {"cost_budget": 0.5},
    "restricted any": {"related": CHAIN},
    "restricted all": {"related": ~np.eye(D, dtype=bool) & ~CHAIN, "relation": "all"},
    "relational any": {"related": CHAIN, "unrelated": np.full(D, 0.7), "cost_budget": 1.1},
    "relational all": {"related": CHAIN, "relation": "all", "unrelated": np.linspace(0.2, 0.9, D)},
    "prerequisites": {"needs": NEEDS},
    "everything": {
        "related": CHAIN, "unrelated": np.full(D, 0.6), "needs": NEEDS, "budget": 4, "cost_budget": 1.5,
    },
}  # fmt: skip


def make_policy(rng, variant, scoring="bins", n_stages=4, groups=None):
    X = rng.normal(size=(N, D))
    groups = [np.array([j]) for j in range(D)] if groups is None else groups
    n_units = len(groups)
    rules = PurchaseRules(
        names=list(range(n_units)),
        groups=groups,
        prices=rng.uniform(0.05, 0.3, n_units),
        losses=rng.uniform(0, 1, (C, C)),
        **RULES[variant],
    )
    encoder = make_encoder(scoring, 4).fit(X, np.ones(N))
    theta = rng.normal(size=(n_stages, encoder.width_, n_units + C))
    theta[..., :n_units] += 0.8  # so that something is bought
    policy = AdditivePolicy(rules, encoder, theta, rng.normal(size=(n_stages, encoder.width_, C)))
    closed = rng.random((N, n_units)) < 0.1
    return rules, policy, encoder.encode(X), closed


def make_lessons(n=60, rewards=(0, 1), groups=None, seed=0, **rules):
    """An encoder, and rows that networks learn from; the sign of the first column is the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = (np.nan_to_num(X[:, 0]) > 0).astype(np.intp)
    groups = [np.array([j]) for j in range(4)] if groups is None else groups
    own = PurchaseRules(
        names=list(range(len(groups))),
        groups=groups,
        prices=np.linspace(1.0, 2.0, len(groups)),
        losses=1.0 - np.eye(2),
        **rules,
    )
    encoder = ScoreEncoder().fit(X, np.ones(n), {})
    codes = encoder.encode(X)
    gaps = np.isnan(codes)
    closed = np.stack([gaps[:, g].all(axis=1) for g in groups], axis=1)
    lessons = Lessons(
        own,
        np.nan_to_num(codes).astype(np.float32),
        ~gaps,
        closed,
        labels,
        np.ones(n),
        np.arange(n) % 4,
        rewards,
    )
    return encoder, lessons
