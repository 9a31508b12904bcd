"""What a purchase is expected to bring, against scores that are added up, and enumerations, by hand."""

import itertools

import numpy as np
import pytest
from problems import FAST, RULES, make_data, make_policy

from rlselect import DatumwiseClassifier
from rlselect.datumwise import Explanation, NetworkTraining

NETWORK = {"steps": 60, "n_members": 2, "hidden": 12, "batch": 32}


@pytest.mark.parametrize("scoring", ["bins", "linear"])
@pytest.mark.parametrize("variant", RULES)
def test_outlook_of_additive_scores(scoring, variant):
    rng = np.random.default_rng(3)
    rules, policy, codes, _ = make_policy(rng, variant, scoring)
    policy.theta *= np.float32(0.05)  # gains as small as costs are
    policy.theta[:, 0] -= 1.0
    margins = (rng.uniform(0, 0.3, rules.n_units), 0.1)
    changed = policy.with_margins(margins).at(rules, thrift=1.7)
    bought = rng.random((len(codes), rules.n_units)) < 0.3
    now, after = changed.outlook(codes, bought)
    shares = policy.probabilities(codes, bought)
    scores = policy.action_scores(codes, bought)
    answered = 0
    for i in range(len(codes)):
        ideal = sum(p * rules.losses[:, c].min() for c, p in enumerate(shares[i]))
        assert now[i] == pytest.approx(min(shares[i] @ losses for losses in rules.losses))
        scored = max(-scores[i, rules.n_units :].max() - ideal, 1e-12)
        for u in range(rules.n_units):
            # margins and thrift change what is chosen, not what is expected
            gain = scores[i, u] + rules.price(bought)[i, u] - scores[i, rules.n_units :].max()
            kept = min(max(1 - gain / scored, 0), 1)
            assert after[i, u] == pytest.approx(ideal + (now[i] - ideal) * kept, abs=1e-4)
            answered += ideal < after[i, u] < now[i]
    assert answered > 5


def test_the_mean_of_policies_has_the_mean_of_their_margins():
    from rlselect.datumwise._improve import blend

    _, policy, codes, _ = make_policy(np.random.default_rng(0), "plain")
    bought = np.zeros((len(codes), policy.rules.n_units), dtype=bool)
    parts = [policy.with_margins((0.2, 0.1)), policy.with_margins((0.4, 0.5))]
    mean = blend([[parts[0]], [parts[1]]])[0]
    for got, expected in zip(mean.outlook(codes, bought), policy.outlook(codes, bought), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_outlook_of_a_problem_solved_exactly():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 3)).astype(float)
    y = np.where(rng.random(400) < 0.9, np.where(X[:, 0] == 1, X[:, 1], X[:, 2]), 0).astype(int)
    model = DatumwiseClassifier(feature_cost=0.02, random_state=0).fit(X, y)
    assert model.scoring_ == "table"

    def error(rows):
        return min(y[rows].mean(), 1 - y[rows].mean()) if rows.any() else 0.0

    def best(rows, known):
        """Least cost from here on: answer, or buy and go on."""
        out = error(rows)
        for u in set(range(3)) - known:
            parts = [rows & (X[:, u] == v) for v in (0, 1)]
            out = min(out, 0.02 + sum(p.sum() * best(p, known | {u}) for p in parts) / rows.sum())
        return out

    session, rows, known = model.start(), np.ones(400, dtype=bool), set()
    for value, u in ((1.0, 0), (0.0, 1)):
        assert session.next() == f"x{u}"
        why = session.explain()
        parts = [rows & (X[:, u] == v) for v in (0, 1)]
        expected = sum(p.sum() * best(p, known | {u}) for p in parts) / rows.sum()
        assert (why.now, why.after) == (pytest.approx(error(rows)), pytest.approx(expected))
        session.tell(value)
        rows, known = rows & (X[:, u] == value), known | {u}
    assert session.next() is None
    assert session.explain() is None


@pytest.mark.parametrize("reward", ["probability", "log"])
def test_outlook_of_networks(reward):
    X, y = make_data(n=80, d=4)
    losses = np.array([[-1.0, 2.0, 3.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    search = NetworkTraining(reward=reward, lookahead=True, **NETWORK)
    model = DatumwiseClassifier(scoring="network", search=search, error_costs=losses, random_state=0)
    policy = model.fit(X, y)._fitted.policy
    codes = model._fitted.encoder.encode(X[:20])
    bought = np.random.default_rng(0).random((20, 4)) < 0.4
    now, after = policy.outlook(codes, bought)
    shares = policy.probabilities(codes, bought)
    scores = policy.action_scores(codes, bought)
    price = policy.price * policy.rules.prices / policy.rules.prices.mean()
    for i, p in enumerate(shares):
        ideal = sum(p[c] * losses[:, c].min() for c in range(3))
        assert now[i] == pytest.approx(min(losses @ p))
        loss = -sum(p * np.log(p)) if reward == "log" else (p @ losses @ p - ideal) / 5.0
        for u in range(4):
            share = np.clip((scores[i, u] + price[u]) / loss, 0, 1)
            assert after[i, u] == pytest.approx(ideal + (now[i] - ideal) * (1 - share), abs=1e-4)
    assert (after < now[:, None] - 1e-3).any()


@pytest.mark.parametrize("scoring", ["bins", "network"])
def test_reasons_are_means_over_purchases(scoring):
    X, y = make_data()
    search = FAST if scoring == "bins" else NetworkTraining(**NETWORK)
    model = DatumwiseClassifier(scoring=scoring, search=search, feature_cost=0.005, random_state=0).fit(X, y)
    reasons, names = model._fitted.reasons, model._fitted.policy.rules.names
    now, after, follows = (dict[int, list]() for _ in range(3))
    for row, order in zip(X, model.acquisition_order(X), strict=True):
        session = model.start()
        for place, name in enumerate(order):
            why, u = session.explain(), names.index(name)
            now.setdefault(u, []).append(why.now)
            after.setdefault(u, []).append(why.after)
            follows.setdefault(u, []).append(order[place + 1] if place + 1 < len(order) else None)
            session.tell(row[int(name[1:])])
    for u, name in enumerate(names):
        if u not in now:
            assert np.isnan(reasons.now[u])
            continue
        assert reasons.now[u] == pytest.approx(np.mean(now[u]), abs=1e-5)
        assert reasons.after[u] == pytest.approx(np.mean(after[u]), abs=1e-5)
        shares = [follows[u].count(other) / len(follows[u]) for other in [*names, None]]
        np.testing.assert_allclose(reasons.follows[u], shares)
        then = model.start().explain(name).then
        assert then == {other: s for other, s in zip(names, shares, strict=False) if other in then}
        assert all(share >= 0.15 for share in then.values())
        for other, value in itertools.product(then, (0.0, None)):
            assert other not in model.start(known={other: value}).explain(name).then
    why = {s["title"]: s for s in model.summary().dict["sections"]}["Why it is bought"]
    top = names.index(why["rows"][0][0])
    assert why["rows"][0][1:3] == [f"{reasons.now[top]:.3f}", f"{reasons.after[top]:.3f}"]
    report = {s["title"]: s for s in model.report(X=X, y=y).dict["sections"]}
    assert report["Why it is bought"]["rows"] == why["rows"]


def test_words():
    words = str(Explanation("scan", 0.02, 0.214, 0.1204, {"age": 0.62, "sex": 0.2}, "error"))
    assert words == "expected error 0.21 to 0.12 for 0.02; opens the way to age (62%), sex (20%)"
    X, y = make_data(n=60)
    model = DatumwiseClassifier(search=FAST, error_costs=2 * (1 - np.eye(3)), random_state=0).fit(X, y)
    session = model.start()
    assert str(session.explain("x3")).startswith("expected cost")
    with pytest.raises(ValueError, match="question='x0' was given, which is known already"):
        session.tell(0.1, of="x0").explain("x0")
