"""What users give in other forms than expected: read as they mean it, or refused with a sentence."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PaperIteration, PolicyIteration

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


def test_generators_seed_too():
    first = fit(random_state=np.random.default_rng(5))
    again = fit(random_state=np.random.default_rng(5))
    other = fit(random_state=np.random.default_rng(6))
    assert (first.predict_proba(X) == again.predict_proba(X)).all()
    assert not (first.predict_proba(X) == other.predict_proba(X)).all()


def test_weights_that_look_like_shares_are_pointed_out():
    with pytest.warns(UserWarning, match=r"mean 0.01, so that 100 rows count as 1: .*Multiply the weights"):
        fit(sample_weight=np.full(100, 0.01))


def test_rows_of_gaps_and_gaps_throughout():
    gaps = np.full((1, 5), np.nan)
    for scoring in ("bins", "linear"):
        model = fit(np.vstack([X, gaps]), np.append(Y, "a"), scoring=scoring)
        assert model.predict(gaps)[0] in ("a", "b")
        assert model.acquire(gaps).sum() == 0
        never = fit(np.column_stack([X, np.full(100, np.nan)]), scoring=scoring)
        assert never.unit_inclusion_[5] == 0
        nothing = fit(np.full((10, 3), np.nan), [0, 1] * 5, scoring=scoring)
        assert set(nothing.predict(np.ones((2, 3)))) <= {0, 1}


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("search", ["auto", PaperIteration(n_iter=2)])
def test_a_handful_of_rows(n, search):
    y = ["a", "b", "c", "b", "a"][:n]
    model = fit(X[:n], y, search=search, scoring="bins" if search == "auto" else "linear")
    assert set(model.predict(X)) <= set(y)
    shares = model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(np.ones(100))
    assert model.start().result().label in y
    assert str(model.report(X[:n], y))


def test_constant_copied_and_extreme_columns():
    assert fit(np.ones((100, 3))).acquire(np.ones((5, 3))).sum() == 0
    copies = fit(np.column_stack([X[:, 0]] * 4), feature_cost=0.05)
    assert copies.score(np.column_stack([X[:, 0]] * 4), Y) > 0.9
    for scale in (1e300, 1e-300):
        assert fit(X * scale).score(X * scale, Y) > 0.9
    far = np.where(np.arange(500).reshape(100, 5) % 7 == 0, np.sign(X) * np.finfo(float).max / 2, X)
    assert fit(far).score(far, Y) > 0.8


def test_sparse_tables_of_all_kinds():
    values = np.where(X > 0.5, X, 0.0)
    dense = fit(values).predict(values)
    csr = fit(sparse.csr_array(values))
    for kind in (sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix):
        model = fit(kind(values))
        assert (model.acquire(kind(values)) == csr.acquire(values)).all()
    assert (fit(values).predict(sparse.csr_matrix(values)) == dense).all()
    empty = sparse.csr_array((100, 5))
    assert len(set(fit(empty).predict(empty))) == 1
    assert csr.report(sparse.csr_array(values), Y).dict["facts"]["Accuracy"] == csr.score(values, Y)
    gaps = sparse.csr_array(np.where(X > 1.5, np.nan, values))
    assert not fit(gaps).acquire(gaps)[(X > 1.5)].any()
    with pytest.raises(ValueError, match="infinity"):
        csr.predict(sparse.csr_array(np.where(X > 1.5, np.inf, 0.0)))


def test_sessions_survive_pickling_in_the_middle():
    session = fit(y=np.where(X[:, :4].sum(axis=1) > 0, "a", "b"), feature_cost=0.001).start()
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


def test_fitted_models_do_not_keep_the_rows():
    small, large = (fit(np.tile(X, (k, 1)), np.tile(Y, k), search="auto", budget=0) for k in (1, 300))
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 2000


def test_names_and_shapes_at_prediction():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = fit(frame)
    with pytest.raises(ValueError, match="unseen at fit time:\n- f"):
        model.predict(frame.rename(columns={"e": "f"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[list("edcba")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="X has 3 features, but DatumwiseClassifier is expecting 5"):
        fit().predict(X[:, :3])
    again = model.fit(X, Y)
    assert not hasattr(again, "feature_names_in_")
    for depth in (-1, "deep", 1.5):
        with pytest.raises(ValueError, match="max_depth="):
            again.question_tree(X, max_depth=depth)


def test_labels_of_all_kinds():
    truth = X[:, 0] > 0
    for y in (truth, truth.astype(float), pd.Categorical(Y), pd.Series(Y, index=range(9, 109)), list(Y)):
        model = fit(y=y)
        assert model.score(X, np.asarray(y)) > 0.8
    with pytest.raises(
        ValueError, match=r"contains missing values \(NaN\) in 1 of 100 rows. Remove these rows\.$"
    ):
        fit(y=np.where(np.arange(100) == 3, np.nan, truth))
    with pytest.raises(ValueError, match="mixes numbers"):
        fit(y=[1, "a"] * 50)
    # a class that a fold of learning never holds
    rare = np.where(np.arange(100) == 3, "rare", Y)
    assert fit(y=rare).classes_.tolist() == ["a", "b", "rare"]
