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
@pytest.mark.parametrize("search", [PolicyIteration(n_iter=2), PaperIteration(n_iter=2)])
def test_a_handful_of_rows(n, search):
    y = ["a", "b", "c", "b", "a"][:n]
    model = fit(X[:n], y, search=search)
    assert set(model.predict(X)) <= set(y)
    shares = model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(np.ones(100))
    assert model.start().result().label in y
    assert str(model.report(X=X[:n], y=y))


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
    assert csr.report(X=sparse.csr_array(values), y=Y).dict["facts"]["Accuracy"] == csr.score(values, Y)
    gaps = sparse.csr_array(np.where(X > 1.5, np.nan, values))
    assert not fit(gaps).acquire(gaps)[(X > 1.5)].any()
    with pytest.raises(ValueError, match="infinity"):
        csr.predict(sparse.csr_array(np.where(X > 1.5, np.inf, 0.0)))


def test_fitted_models_do_not_keep_the_rows():
    small, large = (fit(np.tile(X, (k, 1)), np.tile(Y, k), budget=0) for k in (1, 100))
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
