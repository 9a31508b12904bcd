"""Groups that share features: what is known of one is known of the others, and each has its price."""

import itertools

import numpy as np
import pandas as pd
import pytest
from problems import FAST

from rlselect import DatumwiseClassifier, load, save
from rlselect.datumwise import NetworkTraining, PaperIteration
from rlselect.datumwise._rules import PurchaseRules

GROUPS = {"a": [0, 1], "b": [1, 2], "c": [0, 2], "d": [2, 3, 4]}
SEARCHES = {
    "bins": FAST,
    "linear": FAST,
    "network": NetworkTraining(steps=80, n_members=2, hidden=16, batch=32),
    "paper": PaperIteration(n_iter=2, states_per_row=4),
}
LIMITS = {
    "none": {},
    "budget": {"budget": 2},
    "cost budget": {"costs": [0.01, 0.02, 0.015, 0.03, 0.01], "cost_budget": 0.04},
    "needs": {"prerequisites": {"b": ["d"]}},
    "related": {"related": np.eye(5, k=1) + np.eye(5, k=-1) > 0, "unrelated_cost": 0.02},
}


def make_data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 1] + X[:, 2] + 0.5 * X[:, 5] > 0, "yes", "no")


@pytest.mark.parametrize(
    ("scoring", "limit"),
    [*itertools.product(["bins", "network"], LIMITS), ("linear", "none"), ("paper", "none")],
)
def test_tables_sessions_and_rules_agree(scoring, limit):
    X, y = make_data()
    kind = {"paper": "linear"}.get(scoring, scoring)
    params = {"feature_cost": 0.001} | LIMITS[limit]
    if "costs" in params:
        del params["feature_cost"]
    model = DatumwiseClassifier(
        scoring=kind, search=SEARCHES[scoring], feature_groups=GROUPS, random_state=0, **params
    ).fit(X, y)
    members = {**{name: set(group) for name, group in GROUPS.items()}, "x5": {5}}
    assert model.units_ == list(members)
    orders, costs, shown = model.acquisition_order(X), model.cost(X), model.acquire(X)
    labels, shares = model.predict(X), model.predict_proba(X)
    assert max(map(len, orders)) > 1 or limit != "none"
    prices = dict(zip(model.units_, model._fitted.rules.prices, strict=True))
    for i, order in enumerate(orders):
        known = set()
        for name in order:
            assert not members[name] <= known  # nothing is bought that tells nothing
            known |= members[name]
        assert set(np.flatnonzero(shown[i])) == known
        if limit != "related":
            assert costs[i] == pytest.approx(sum(prices[name] for name in order))
        if limit == "budget":
            assert len(order) <= 2
        if limit == "needs":
            assert "b" not in order or "d" in order[: order.index("b")]
    np.testing.assert_allclose(model.inclusion_, shown.mean(axis=0), atol=1e-12)
    for i in range(12):
        session, asked = model.start(), []
        while session.next() is not None:
            names = [name for name, _ in session.fields()]
            asked += names
            session.tell({name: X[i, int(name[1:])] for name in names})
        assert len(asked) == len(set(asked))  # no value is asked for twice
        result = session.result()
        assert (result.acquired, result.label) == (orders[i], labels[i])
        assert result.cost == pytest.approx(costs[i])
        np.testing.assert_allclose(result.probabilities, shares[i], atol=1e-5)


def test_what_is_open():
    rules = PurchaseRules(
        names=list("abc"),
        groups=[np.array([0, 1]), np.array([1, 2]), np.array([0, 2])],
        prices=np.ones(3),
        losses=1 - np.eye(2),
    )
    assert not rules.plain
    part = rules.subset(np.array([0, 2, 1]))
    assert part.copies.tolist() == [0, 1, 0, 2, 1, 2]
    for own, order in ((rules, [0, 1, 2]), (part, [0, 2, 1])):
        for bought in itertools.product([False, True], repeat=3):
            held = np.array([bought])[:, order]
            known = set().union(*(set(rules.groups[u]) for u in range(3) if bought[u]))
            expected = [not bought[u] and not set(rules.groups[u]) <= known for u in range(3)]
            assert own.open(held, np.zeros(1))[0].tolist() == [expected[u] for u in order]
    assert rules.shown(np.array([[True, False, True]])).tolist() == [[True, True, True]]
    assert rules.shown(np.array([[False, True, False]])).tolist() == [[False, True, True]]


def test_solved_exactly_as_by_enumeration():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(300, 3)).astype(float)
    y = ((X[:, 0] + X[:, 1] + X[:, 2] >= 2) ^ (rng.random(300) < 0.05)).astype(int)
    groups, prices = [[0, 1], [1, 2]], [0.03, 0.02]
    model = DatumwiseClassifier(
        feature_groups={"a": groups[0], "b": groups[1], "c": [0]}, costs=[*prices, 0.01], random_state=0
    ).fit(X, y)
    assert model.scoring_ == "table"
    units, costs = [{0, 1}, {1, 2}, {0}], [*prices, 0.01]

    def best(rows, known):
        out = min(y[rows].mean(), 1 - y[rows].mean())
        for unit, cost in zip(units, costs, strict=True):
            new = known | unit
            if new != known:
                codes = X[rows][:, sorted(new)] @ 2.0 ** np.arange(len(new))
                parts = [rows[codes == code] for code in np.unique(codes)]
                out = min(out, cost + sum(len(p) * best(p, new) for p in parts) / len(rows))
        return out

    assert -model.value_ == pytest.approx(best(np.arange(300), set()))


def test_known_members_are_not_asked_for_again():
    X, y = make_data()
    model = DatumwiseClassifier(feature_groups=GROUPS, search=FAST, feature_cost=0.0, random_state=0).fit(
        X, y
    )
    session = model.start(known={"a": [0.1, 0.2]})
    session.tell([0.5], of="b")
    assert not session._rules.open(session._bought, session._spent)[0, model.units_.index("c")]
    with pytest.raises(ValueError, match="known already or may not be bought now"):
        session.tell(0.3, of="c")
    with pytest.raises(ValueError, match="'d' has 2 features that are not known yet, but 3 values"):
        session.tell([0.5, 1.0, 1.0], of="d")
    with pytest.raises(ValueError, match="'d' has no feature 'x2' that is not known yet; it has x3, x4"):
        session.tell({"x2": 1.0}, of="d")
    session.tell({"x3": 1.0, "x4": None}, of="d")
    assert session.result().acquired == ["b", "d"]


def test_frames_sparse_input_and_gaps():
    from scipy import sparse

    X, y = make_data()
    X[np.abs(X) < 0.5] = 0.0
    params = {"feature_groups": GROUPS, "search": FAST, "feature_cost": 0.001, "random_state": 0}
    thin = DatumwiseClassifier(**params).fit(sparse.csr_array(X), y)
    assert thin.acquisition_order(sparse.csr_array(X)) == thin.acquisition_order(X)
    X[::5, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("pqrstu")).assign(p=np.where(X[:, 0] > 0, "high", "low"))
    named = {"one": ["p", "q"], "two": ["q", "r"]}
    model = DatumwiseClassifier(**params | {"feature_groups": named}).fit(frame, y)
    assert model.units_ == ["one", "two", "s", "t", "u"]
    shown = model.acquire(frame)
    for row, order in zip(shown, model.acquisition_order(frame), strict=True):
        assert row[1] == ("one" in order or "two" in order)


def test_saving_keeps_what_is_shared(tmp_path):
    X, y = make_data()
    model = DatumwiseClassifier(feature_groups=GROUPS, search=FAST, feature_cost=0.001, random_state=0)
    save(model.fit(X, y), tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert again.acquisition_order(X) == model.acquisition_order(X)
    assert again.with_budget(1).acquire(X).sum(axis=1).max() <= 3


def test_what_cannot_be():
    X, y = make_data(40)
    with pytest.raises(ValueError, match="same features in 'a' and 'b'; leave one of them out"):
        DatumwiseClassifier(scoring="bins", feature_groups={"a": [0, 1], "b": [1, 0]}).fit(X, y)
