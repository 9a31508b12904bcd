"""The estimator: inputs of every kind, sessions, limits, and errors that say what to do."""

import pickle
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from problems import (
    FAST,
    make_data,
)
from scipy import sparse
from sklearn.base import clone

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PaperIteration, PolicyIteration, _buyer, _learn, _policy_iteration

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


@pytest.mark.parametrize("variant", VARIANTS)
def test_limits_hold_on_new_rows(variant):
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, random_state=0, **VARIANTS[variant]).fit(X, y)
    fresh = np.random.default_rng(5).normal(scale=3, size=(300, 7))
    bought, order = model.acquire(fresh), model.acquisition_order(fresh)
    if variant == "budget":
        assert bought.sum(axis=1).max() <= 2
    if variant == "cost budget":
        assert model.cost(fresh).max() <= 0.08 + 1e-9
        assert model.cost(fresh) == pytest.approx(bought @ np.linspace(0.01, 0.07, 7))
    if variant == "groups":
        assert (bought[:, 0] == bought[:, 5]).all()
        assert (bought[:, 1] == bought[:, 6]).all()
        assert model.sparsity(fresh) == pytest.approx(1 - np.mean([len(o) for o in order]) / 4)
    if variant == "needs":
        for names in order:
            assert "x1" not in names or names.index("x0") < names.index("x1")
            assert "x2" not in names or names.index("x3") < names.index("x2")
    assert [len(o) for o in order] == (
        bought.sum(axis=1).tolist() if variant != "groups" else [len(o) for o in order]
    )


def test_what_is_not_bought_does_not_matter():
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, random_state=0, feature_cost=0.05).fit(X, y)
    bought = model.acquire(X)
    changed = np.where(bought, X, 1e6)
    assert (model.acquire(changed) == bought).all()
    assert (model.predict(changed) == model.predict(X)).all()


def test_missing_values_are_never_bought():
    X, y = make_data()
    gaps = np.random.default_rng(2).random(X.shape) < 0.3
    X[gaps] = np.nan
    for scoring in ("bins", "linear"):
        model = DatumwiseClassifier(scoring=scoring, search=FAST, random_state=0).fit(X, y)
        assert not (model.acquire(X) & gaps).any()
        nothing = np.full((2, 7), np.nan)
        assert (model.cost(nothing) == 0).all()
        assert len(set(model.predict(nothing))) == 1


def test_same_seed_same_answer_for_any_order_and_jobs():
    X, y = make_data()
    model = DatumwiseClassifier(random_state=3, search=PolicyIteration(n_iter=2, states_per_row=4))
    first = clone(model).fit(X, y)
    mixed = np.random.default_rng(0).permutation(len(y))
    for other in (clone(model).fit(X[mixed], y[mixed]), clone(model).set_params(n_jobs=2).fit(X, y)):
        assert other.predict_proba(X) == pytest.approx(first.predict_proba(X))
        assert (other.acquire(X) == first.acquire(X)).all()
    copy = pickle.loads(pickle.dumps(first))
    assert (copy.predict(X) == first.predict(X)).all()
    assert (copy.acquire(X) == first.acquire(X)).all()


def test_weights_count_as_copies():
    X, y = make_data(n=60)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    model = DatumwiseClassifier(random_state=3, search=FAST)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    copied = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.predict_proba(X) == pytest.approx(copied.predict_proba(X))


def test_frames_name_what_is_bought():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = DatumwiseClassifier(search=FAST, random_state=0, costs={"a": 0.5}).fit(frame, y)
    assert model.units_ == list("abcdefg")
    assert model.unit_inclusion_[0] < 0.1
    assert model.start().next() in set("bcdefg")
    assert (model.predict(frame) == model.predict(frame.copy())).all()


def test_sparse_input_learns_from_what_is_there():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 30, density=0.2, random_state=0, format="csr")
    y = (X[:, [3]].toarray().ravel() > 0).astype(int)
    y = np.where(rng.random(300) < 0.02, 1 - y, y)
    model = DatumwiseClassifier(search=FAST, random_state=0).fit(X, y)
    assert model.unit_inclusion_[3] > 0
    assert model.score(X, y) > 0.95
    assert (model.predict(X) == model.predict(X.toarray())).all()


def test_budget_zero_gives_the_prior_class():
    X, y = make_data()
    model = DatumwiseClassifier(scoring="bins", search=FAST, budget=0).fit(X, y)
    labels, counts = np.unique(y, return_counts=True)
    assert set(model.predict(X)) == {labels[counts.argmax()]}
    assert model.predict_proba(X)[0] == pytest.approx(counts / len(y))
    assert model.sparsity(X) == 1.0
    dear = clone(model).set_params(error_costs=[[0, 9, 9], [1, 0, 1], [9, 9, 0]]).fit(X, y)
    assert set(dear.predict(X)) == {labels[1]}


def test_error_costs_move_the_answers():
    X, y = make_data()
    plain = DatumwiseClassifier(search=FAST, random_state=0).fit(X, y)
    afraid = DatumwiseClassifier(search=FAST, random_state=0, error_costs=[[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    afraid.fit(X, y)
    assert (afraid.predict(X) == "oak").sum() > (plain.predict(X) == "oak").sum() + 10


def test_relations_shape_what_is_bought():
    X, y = make_data()
    chain = lambda a, b: abs(int(a[1:]) - int(b[1:])) == 1  # noqa: E731
    model = DatumwiseClassifier(related=chain, search=FAST, random_state=0, feature_cost=0.001).fit(X, y)
    for names in model.acquisition_order(X):
        bought = [int(name[1:]) for name in names]
        for k in range(1, len(bought)):
            assert any(abs(bought[k] - j) == 1 for j in bought[:k])
    every = DatumwiseClassifier(
        related=chain, relation="all", search=FAST, random_state=0, feature_cost=0.001
    )
    assert max(map(len, every.fit(X, y).acquisition_order(X))) <= 2


def test_an_expensive_feature_is_avoided():
    X, y = make_data()
    X = np.hstack([X, X[:, :1]])
    model = DatumwiseClassifier(scoring="bins", costs=[0.05] * 7 + [0.0], random_state=0).fit(X, y)
    assert model.inclusion_[7] > 0.9 > 0.3 > model.inclusion_[0]


def test_the_report_opens_with_what_a_case_needs():
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, random_state=0, budget=3).fit(X, y)
    summary = model.summary().dict
    answer = summary["answer"]
    assert f"A case needs {model.acquire(X).sum(axis=1).mean():.2g} of 7 features on average" in answer
    assert "was not tried" in answer
    assert "report(X=X, y=y) tells" in summary["notes"][0]
    judged = model.report(X=X, y=y).dict["answer"]
    assert f"{model.score(X, y):.0%} of {len(y)} cases are answered rightly." in judged
    dear = DatumwiseClassifier(search=FAST, random_state=0, feature_cost=5.0).fit(X, y)
    assert "None of the 7 features is worth its price" in dear.summary().dict["answer"]
    # tables of nobody who buys were told with their notes alone
    assert not dear.summary().dict["sections"]
    assert [s["title"] for s in dear.report(X=X, y=y).dict["sections"] if s.get("rows") == []] == []


def test_summary():
    X, y = make_data()
    model = DatumwiseClassifier(search=FAST, random_state=0, budget=3).fit(X, y)
    text = str(model.summary())
    assert "# What to ask of each case" in text
    assert "Method: DatumwiseClassifier" in text
    assert "Classes: ash, elm, oak" in text
    assert "7 features, at 0.01 each, at most 3 per case" in text
    assert f"Bought per case: {model.acquire(X).sum(axis=1).mean():.3g}" in text
    assert f"Mean cost per case in training, errors included: {-model.value_:.3g}" in text
    assert "Rows read: 150 of 150" in text
    assert f"Stopped: {model.stop_reason_}" in text
    assert 7 - model.support_.sum() == 1
    assert "1 other feature is never bought." in text
    for name, share in zip(model.units_, model.unit_inclusion_, strict=True):
        assert (f"{share:.1%}" in text and name in text) or share == 0
    rules = {"costs": np.arange(7.0), "cost_budget": 4, "prerequisites": {1: 0}, "related": np.ones((7, 7))}
    errors = {"error_costs": [[-5, 9, 9], [9, -5, 9], [9, 9, -5]], "unrelated_cost": 2}
    text = str(DatumwiseClassifier(search=FAST, random_state=0, **rules, **errors).fit(X, y).summary())
    assert (
        "0 to 6 each, for at most 4 per case, unrelated ones at other prices, some after others only" in text
    )
    assert "An answer costs: -5 to 9" in text


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"costs": [1, 2]}, r"costs has shape \(2,\), but there are 7"),
        ({"costs": {"q": 1}}, "costs names 'q'"),
        ({"costs": [1, 1, 1, 1, 1, 1, np.inf]}, "costs must be numbers from 0 to 1e\\+30; the one of 'x6'"),
        ({"costs": {"x1": np.nan}}, "the one of 'x1'"),
        ({"feature_cost": -1}, "feature_cost=-1 was given; it must be a number from 0 to 1e\\+30"),
        ({"feature_cost": np.nan}, "feature_cost=nan was given"),
        (
            {"budget": -1},
            "it must be None or an integer of at least 0, the most purchases per case",
        ),
        ({"budget": 2.5}, "budget=2.5 was given"),
        ({"cost_budget": np.inf}, "cost_budget=inf was given"),
        ({"error_costs": np.eye(2)}, r"error_costs has shape \(2, 2\), but y has 3 classes"),
        ({"error_costs": np.full((3, 3), np.nan)}, "error_costs must be finite"),
        ({"feature_groups": [[0, 1], [1, 0], [2]]}, "feature_groups has the same features in 'group 0'"),
        ({"feature_groups": ["a", "b"]}, "2 labels for 7 features"),
        ({"feature_groups": [[0, 1, 2, 3, 4, 5, 6], []]}, "empty groups"),
        ({"feature_groups": [[0, 1, 2, 3, 4, 5, 9]]}, "feature_groups holds 9"),
        ({"related": np.eye(3)}, r"related has shape \(3, 3\)"),
        ({"related": np.eye(7), "relation": "some"}, "relation='some'"),
        ({"unrelated_cost": 1.0}, "without related"),
        ({"prerequisites": {"x0": ["x1"], "x1": ["x0"]}}, "form a circle, so that x0, x1"),
        ({"prerequisites": ["x0"]}, "prerequisites must map"),
        ({"scoring": "deep"}, "scoring='deep'"),
        ({"n_bins": 1}, "n_bins=1"),
        (
            {"search": "fast"},
            r"search='fast' was given; it must be 'auto' or PolicyIteration\(...\), PaperIteration",
        ),
        ({"scoring": "linear", "n_bins": 4}, "n_bins=4 has no effect with scoring='linear'"),
        ({"relation": "all"}, "relation='all' has no effect with related=None; say what is related"),
        ({"search": PaperIteration(), "n_jobs": 2}, "n_jobs=2 has no effect with the paper's iteration"),
        ({"costs": [0.1] * 7, "feature_cost": 0.2}, "feature_cost=0.2 has no effect with a cost for every"),
        ({"time_budget": 0}, "time_budget=0"),
    ],
)
def test_errors_say_what_is_wrong(params, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        DatumwiseClassifier(**params).fit(X, y)


@pytest.mark.parametrize(
    "make", [partial(DatumwiseClassifier, search=FAST), partial(DatumwiseClassifier.paper, n_iter=3)]
)
def test_a_budget_beyond_all_features_is_none(make):
    X, y = make_data()
    X, y = X[:40], y[:40]
    free, huge = (make(random_state=0, budget=b).fit(X, y).predict(X) for b in (X.shape[1], 10**30))
    np.testing.assert_array_equal(free, huge)


def test_errors_of_rows():
    X, y = make_data()
    with pytest.raises(ValueError, match="only one class"):
        DatumwiseClassifier(scoring="bins").fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="at least one weight must be positive"):
        DatumwiseClassifier(scoring="bins").fit(X, y, sample_weight=np.zeros(len(y)))


def test_what_is_bought_by_feature():
    X, y = make_data()
    groups = {"a": [0, 5], "b": ["x2", 6]}
    model = DatumwiseClassifier(feature_groups=groups, search=FAST, random_state=0).fit(X, y)
    # the other features stand alone
    assert model.units_ == ["a", "b", "x1", "x3", "x4"]
    bought = model.acquire(X)
    assert model.inclusion_ == pytest.approx(bought.mean(axis=0))
    assert (model.inclusion_[[0, 2]] == model.inclusion_[[5, 6]]).all()
    assert (model.support_ == bought.any(axis=0)).all()
    assert model.unit_inclusion_ == pytest.approx(model.inclusion_[[0, 2, 1, 3, 4]])
    best_first = sorted(range(7), key=lambda j: (-model.inclusion_[j], j))
    assert model.ranking_[best_first].tolist() == list(range(1, 8))


def test_path_has_one_entry_per_iteration():
    X, y = make_data()
    search = PolicyIteration(n_iter=3, n_restarts=2, states_per_row=3)
    path = DatumwiseClassifier(search=search, random_state=0).fit(X, y).path_
    assert path["climb"].tolist() == [0, 0, 0, 1, 1, 1]
    assert path["iteration"].tolist() == [1, 2, 3, 1, 2, 3]
    assert {len(column) for column in path.values()} == {6}
    assert ((path["bought"] >= 0) & (path["bought"] <= 1)).all()
    exact = DatumwiseClassifier().fit(np.arange(40)[:, None] % 2, np.arange(40) % 2)
    assert {name: column.tolist() for name, column in exact.path_.items()} == {key: [] for key in path}


def state(model, X):
    """What a fitted classifier says, by every road."""
    return {
        "classes": model.classes_.tolist(),
        "units": model.units_,
        "names": getattr(model, "feature_names_in_", np.empty(0)).tolist(),
        "inclusion": model.inclusion_.tolist(),
        "reason": model.stop_reason_,
        "labels": model.predict(X).tolist(),
        "shares": model.predict_proba(X).tolist(),
        "order": model.acquisition_order(X),
        "text": str(model.summary()),
    }


@pytest.mark.parametrize("where", ["rules", "screening", "learning", "the end"])
def test_a_failed_refit_leaves_the_old_fit(where, monkeypatch):
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = DatumwiseClassifier(search=FAST, random_state=0).fit(frame, y)
    before = state(model, frame)
    places = {
        "rules": (_buyer, "read_rules"),
        "screening": (_learn.CaseTable, "units_to_learn"),
        "learning": (_policy_iteration, "choose_margin"),
        "the end": (_buyer, "rank"),
    }

    def broken(*args, **options):
        raise RuntimeError("no more")

    monkeypatch.setattr(*places[where], broken)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X[:, :3], np.where(X[:, 0] > 0, "new", "other"))
    monkeypatch.undo()
    assert state(model, frame) == before


@pytest.mark.parametrize("seed", range(8))
def test_an_interrupt_at_any_moment_leaves_the_old_fit_or_a_new_one(seed):
    X, y = make_data(n=80)
    model = DatumwiseClassifier(search=FAST, random_state=0).fit(X, y)
    before, lines = state(model, X), 0

    def count(frame, event, arg):
        nonlocal lines
        lines += 1
        if lines == stop:
            raise KeyboardInterrupt
        return count if "rlselect" in frame.f_code.co_filename else None

    other = np.where(X[:, 0] > 0, "new", "other")
    stop = int(10 ** np.random.default_rng(seed).uniform(0, 5.1))  # a fit takes some 150,000 lines
    sys.settrace(count)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it was interrupted
            model.fit(X, other)
    except KeyboardInterrupt:
        assert state(model, X) == before
    else:
        assert set(model.predict(X)) <= set(model.classes_) == {"new", "other"}
        assert model.stop_reason_ == "interrupted" or lines < stop
    finally:
        sys.settrace(None)


def test_seeds_of_all_kinds():
    X, y = make_data(n=80)

    def shares(seed):
        return DatumwiseClassifier(search=FAST, random_state=seed).fit(X, y).predict_proba(X)

    for make in (lambda: 5, lambda: np.random.RandomState(5), lambda: np.random.default_rng(5)):
        assert (shares(make()) == shares(make())).all()
    assert (shares(5) == shares(np.random.default_rng(5))).all()
    moving = np.random.RandomState(5)
    assert (shares(moving) != shares(moving)).any()
