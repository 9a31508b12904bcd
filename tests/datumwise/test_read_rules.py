"""Groups, costs, relations and errors in all forms: read as they are meant, or refused with a sentence."""

import numpy as np
import pandas as pd
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._read_rules import read_rules

FAST = PolicyIteration(n_iter=2, n_restarts=1, states_per_row=6)


RNG = np.random.default_rng(0)


X = RNG.normal(size=(100, 5))


Y = np.where(X[:, 0] > 0, "a", "b")


def fit(X=X, y=Y, sample_weight=None, **params):
    params = {"search": FAST, "random_state": 0, **params}
    return DatumwiseClassifier(**params).fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"costs": "cheap"}, "costs='cheap' does not hold numbers only"),
        ({"costs": {"x0": "dear"}}, r"costs\['x0'\] is 'dear'; a number is needed"),
        ({"costs": {"x0": None}}, r"costs\['x0'\] is None"),
        ({"costs": np.ones((5, 1))}, r"costs has shape \(5, 1\)"),
        ({"costs": pd.Series({"x0": 1.0, "weight": 2.0})}, "costs names 'weight'"),
        ({"feature_cost": True}, "feature_cost=True was given; it must be"),
        ({"cost_budget": True}, "cost_budget=True was given; it must be"),
        ({"feature_groups": "abcde"}, "feature_groups='abcde' is not understood"),
        ({"feature_groups": 3}, "feature_groups=3 is not understood"),
        ({"feature_groups": [None, None, 1, 1, 1]}, "a group named None; give every group a name"),
        ({"feature_groups": [np.nan, np.nan, 1, 1, 1]}, "a group named nan"),
        ({"feature_groups": {None: [0, 1], "b": [2, 3, 4]}}, "a group named None"),
        ({"feature_groups": [[True, False]]}, "feature_groups holds True; give names of features or pos"),
        ({"feature_groups": {"x4": ["x0", "x1"]}}, "a group named 'x4', and the feature of that name stands"),
        (
            {"feature_groups": {"a": ["x0", "x1"], "b": ["x2", "x3", "X4"]}},
            "'X4' is not a column of X. Did you mean 'x4'",
        ),
        ({"error_costs": "big"}, "error_costs='big' does not hold numbers only; give a square matrix"),
        ({"error_costs": [[0, 1], [0]]}, "does not hold numbers only"),
        ({"error_costs": {"a": 1}}, "does not hold numbers only"),
        ({"error_costs": 5}, r"error_costs has shape \(\)"),
        (
            {"error_costs": pd.DataFrame(np.eye(2), index=["a", "c"])},
            r"labels \['a', 'c'\], which are not \['a'",
        ),
        ({"prerequisites": {"x0": None}}, "prerequisites names None"),
        ({"prerequisites": {"x0": ["x0"]}}, "form a circle, so that x0"),
        (
            {"related": lambda a, b: None},
            r"related\('x0', 'x0'\) gave None; the function must say True or False",
        ),
        ({"related": lambda a, b: np.array([1, 0])}, r"gave array\(\[1, 0\]\)"),
        ({"related": lambda a, b: "near"}, "gave 'near'"),
        ({"related": np.full((5, 5), np.nan)}, "related must hold truth values, without gaps"),
        ({"related": [["n"] * 5] * 5}, "related must hold truth values"),
        ({"related": "near"}, r"related has shape \(\)"),
        (
            {"n_bins": 3.0},
            "n_bins=3.0 was given; it must be an integer of at least 2 or a list of such integers",
        ),
        (
            {"time_budget": np.nan},
            "time_budget=nan was given; it must be None or a positive number of seconds",
        ),
        ({"random_state": "seed"}, "random_state='seed' was given; it must be an int of at least 0"),
    ],
)
def test_refused_with_a_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        fit(**params)


def test_costs_of_a_series_go_by_its_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_name = fit(frame, costs=pd.Series({"e": 0.05, "a": 0.01, "b": 0.02, "c": 0.03, "d": 0.04}))
    assert by_name._fitted.rules.prices.tolist() == [0.01, 0.02, 0.03, 0.04, 0.05]
    in_order = fit(frame, costs=pd.Series([0.01, 0.02, 0.03, 0.04, 0.05]))
    assert in_order._fitted.rules.prices.tolist() == by_name._fitted.rules.prices.tolist()


def test_error_costs_and_relations_of_a_frame_go_by_their_names():
    errors = pd.DataFrame([[0.0, 9.0], [1.0, 0.0]], index=["b", "a"], columns=["b", "a"])
    # answering a when b is true costs 1, whatever the order of the frame
    assert fit(error_costs=errors)._fitted.rules.losses.tolist() == [[0, 1], [9, 0]]
    mixed = errors[["a", "b"]]
    assert fit(error_costs=mixed)._fitted.rules.losses.tolist() == [[0, 1], [9, 0]]
    names = [f"x{j}" for j in (4, 3, 2, 1, 0)]
    near = pd.DataFrame(np.eye(5, k=1), index=names, columns=names)
    assert (fit(related=near)._fitted.rules.related == np.eye(5, k=-1).astype(bool)).all()


def test_groups_may_mix_names_and_numbers():
    model = fit(feature_groups=[0, ["x1", 2], (3, "x4")])
    assert [g.tolist() for g in model._fitted.rules.groups] == [[0], [1, 2], [3, 4]]
    labels = fit(feature_groups=np.array([7, 7, 8, 8, 8]))
    assert labels.units_ == [7, 8]
    assert all(type(name) is int for name in labels.units_)
    assert fit(prerequisites={0: {"x1", 2}})._fitted.rules.needs[0].tolist() == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_pairs_cost_what_equation_10_says():
    """Sum over the bought pairs of one price or the other, and over the features of their own."""
    rng = np.random.default_rng(0)
    related = rng.random((5, 5)) < 0.5
    related |= related.T
    rules = read_rules(
        list("abcde"),
        np.array([0, 1]),
        feature_cost=0.1,
        related=related,
        relation="pairs",
        unrelated_cost=0.7,
    )
    for _ in range(20):
        order = rng.permutation(5)[: rng.integers(1, 6)]
        bought, spent = np.zeros((1, 5), dtype=bool), 0.0
        for unit in order:
            spent += rules.price(bought)[0, unit]
            bought[0, unit] = True
        pairs = [(u, v) for k, u in enumerate(order) for v in order[:k]]
        assert spent == pytest.approx(0.1 * len(order) + sum(0.1 if related[p] else 0.7 for p in pairs))
    with pytest.raises(ValueError, match="prices every pair"):
        read_rules(list("ab"), np.array([0, 1]), related=np.eye(2), relation="pairs")
