"""One case at a time: sessions ask what `acquire` buys and answer what `predict` says."""

import pickle

import numpy as np
import pandas as pd
import pytest
from problems import (
    COLOURS,
    FAST,
    make_columns,
    make_data,
)

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining

VARIANTS = {
    "default": {},
    "linear": {"scoring": "linear"},
    "budget": {"budget": 2},
    "cost budget": {"costs": np.linspace(0.01, 0.07, 7), "cost_budget": 0.08},
    "groups": {"feature_groups": {"a": [0, 5], "b": [1, 2, 6], "c": [3], "d": [4]}},
    "errors": {"error_costs": [[-1, 2, 3], [1, 0, 1], [4, 1, 0]], "feature_cost": 0.05},
    "related": {"related": np.eye(7, k=1) + np.eye(7, k=-1), "unrelated_cost": 0.05},
    "needs": {"prerequisites": {1: [0], "x2": "x3"}},
}


def follow(model, row, names):
    """Answer a session's questions from a row."""
    session = model.start()
    place = {name: j for j, name in enumerate(names)}
    while (question := session.next()) is not None:
        group = dict(zip(model._fitted.rules.names, model._fitted.rules.groups, strict=True))[question]
        values = row[group]
        if np.isnan(values).all():
            session.unavailable()
        elif len(group) == 1:
            session.tell(values[0])
        else:
            session.tell({name: row[place[name]] for name in names if place[name] in group})
    return session.result()


@pytest.mark.parametrize("variant", VARIANTS)
def test_sessions_equal_acquire_and_predict(variant):
    X, y = make_data()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    names = [f"x{j}" for j in range(7)]
    model = DatumwiseClassifier(search=FAST, random_state=0, **VARIANTS[variant]).fit(X, y)
    chosen = X[:40]
    order, cost = model.acquisition_order(chosen), model.cost(chosen)
    labels, shares = model.predict(chosen), model.predict_proba(chosen)
    assert max(map(len, order)) > 0
    for i, row in enumerate(chosen):
        result = follow(model, row, names)
        assert result.acquired == order[i]
        assert result.label == labels[i]
        assert result.cost == pytest.approx(cost[i])
        assert result.probabilities == pytest.approx(shares[i], abs=1e-6)


def test_answers_that_do_not_fit_the_question():
    X, y = make_data()
    groups = {"a": [0, 1, 2], "b": [3, 4, 5, 6]}
    session = DatumwiseClassifier(feature_groups=groups, search=FAST, random_state=0).fit(X, y).start()
    asked = session.next()
    with pytest.raises(ValueError, match="features, but 1 values were given"):
        session.tell(1.0)
    with pytest.raises(ValueError, match="has no feature 'q'"):
        session.tell({"q": 1.0})
    with pytest.raises(ValueError, match="infinite"):
        session.tell(np.full(len(groups[asked]), np.inf))
    while session.next() is not None:
        session.unavailable()
    with pytest.raises(ValueError, match="none is open"):
        session.tell(1.0)
    assert session.result().cost == 0.0


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scoring": "linear"},
        {"feature_groups": {"look": ["colour", "lamp"], "rest": ["weight", "noise"]}},
    ],
    ids=["bins", "linear", "groups"],
)
def test_sessions_take_raw_values(params):
    columns, y = make_columns()
    frame = pd.DataFrame(columns)
    frame.loc[::7, "colour"] = None
    model = DatumwiseClassifier(search=FAST, random_state=0, **params).fit(frame, y)
    order, labels, cost = model.acquisition_order(frame), model.predict(frame), model.cost(frame)
    for i in range(25):
        session, row = model.start(), frame.iloc[i].to_dict()
        while (question := session.next()) is not None:
            names = params["feature_groups"][question] if "feature_groups" in params else None
            session.tell(row[question] if names is None else {name: row[name] for name in names})
        result = session.result()
        assert result.acquired == order[i]
        assert result.label == labels[i]
        assert result.cost == pytest.approx(cost[i])


def test_sessions_are_told_what_they_cannot_use():
    columns, _ = make_columns()
    frame = pd.DataFrame({"colour": columns["colour"]})
    model = DatumwiseClassifier(scoring="bins", feature_cost=0.0).fit(
        frame, np.isin(columns["colour"], COLOURS[::3])
    )
    session = model.start()
    assert session.next() == "colour"
    with pytest.raises(ValueError, match="takes one of its levels, but"):
        session.tell([["amber"]])
    with pytest.warns(UserWarning, match="'colour' had no level 'mauve' in fit.*its levels are amber, blue"):
        session.tell("mauve")
    assert session.next() is None
    assert session.result().acquired == []

    numbers = DatumwiseClassifier(scoring="bins", feature_cost=0.0).fit(
        frame.assign(colour=range(300)), np.arange(300) > 150
    )
    session = numbers.start()
    for wrong in ("blue", {1, 2}, b"7", [[1.0]]):
        with pytest.raises(ValueError, match="'colour' is a number, but"):
            session.tell(wrong)
    with pytest.raises(ValueError, match="'colour' is infinite"):
        session.tell(np.inf)
    assert session.next() == "colour"
    assert session.tell(np.float32(200)).result().acquired == ["colour"]


def test_sessions_survive_pickling_in_the_middle():
    X = make_data()[0]
    y = np.where(X[:, :4].sum(axis=1) > 0, "a", "b")
    session = DatumwiseClassifier(search=FAST, feature_cost=0.001, random_state=0).fit(X, y).start()
    session.tell(0.1)
    session.unavailable()
    copy = pickle.loads(pickle.dumps(session))
    while (question := session.next()) is not None:
        assert copy.next() == question
        session.tell(0.3)
        copy.tell(0.3)
    assert copy.next() is None
    assert copy.result().acquired == session.result().acquired
    assert copy.result().cost == session.result().cost


def test_a_visit_is_paid_once():
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, feature_cost=0.001, random_state=0).fit(X, y)
    session = model.start(visit_cost=0.05)
    ordered = session.next_few(3)
    assert ordered == model.start().next_few(3)
    assert len(ordered) == 3
    for name in ordered:
        session.tell(0.3, of=name)
    result = session.result()
    assert result.visits == 1
    assert result.cost == pytest.approx(0.05 + 3 * 0.001)
    # what was not ordered is another visit
    other = next(name for name in model.units_ if name not in ordered)
    result = session.tell(0.1, of=other).result()
    assert (result.visits, result.cost) == (2, pytest.approx(2 * 0.05 + 4 * 0.001))
    alone = model.start(visit_cost=0.05)
    for name in ordered:
        alone.tell(0.3, of=name)
    assert (alone.result().visits, alone.result().cost) == (3, pytest.approx(3 * 0.051))


@pytest.mark.parametrize("scoring", ["bins", "network"])
def test_a_visit_has_to_be_worth_its_cost(scoring):
    X, y = make_data()
    search = FAST if scoring == "bins" else NetworkTraining(steps=100, n_members=2, hidden=16, batch=32)
    model = DatumwiseClassifier(scoring=scoring, search=search, feature_cost=0.01, random_state=0).fit(X, y)
    policy = model._fitted.policy
    scores = policy.action_scores(model._fitted.encoder.encode(X[:1]), np.zeros((1, 7), dtype=bool))[0]
    gains = np.sort(scores[:7] - scores[7:].max())[::-1]
    unit = policy.score_of(1.0)  # a cost of one in units of the scores
    for most in (1, 3):
        worth = gains[:most][gains[:most] >= 0].sum() / unit
        assert worth > 0
        assert len(model.start(visit_cost=0.99 * worth).next_few(most)) > 0
        assert model.start(visit_cost=1.01 * worth).next_few(most) == []
    alone = gains[0] / unit
    assert model.start(visit_cost=1.01 * alone).next() is None
    assert model.start(visit_cost=1.01 * alone).explain() is None
    assert len(model.start(visit_cost=1.01 * alone).next_few(3)) > 1
    with pytest.raises(ValueError, match="visit_cost=-1"):
        model.start(visit_cost=-1)


def test_visits_count_in_a_cost_budget():
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, feature_cost=0.01, cost_budget=0.1, random_state=0).fit(X, y)
    assert len(model.start(visit_cost=0.085).next_few(5)) == 1
    assert model.start(visit_cost=0.095).next_few(5) == []
