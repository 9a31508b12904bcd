"""Products beside their columns: against enumeration, and in everything that a fit offers."""

import re
from itertools import combinations, product
from math import comb
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from rlselect import REVS, load, save
from rlselect.data._units import Units
from rlselect.learn import Softmax
from rlselect.subset import Sarsa
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs._two_priors import run_walk
from rlselect.subset.revs._walk import Walker, WalkPlan
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows


def data(n=200, p=30, seed=0, effects=(1.0, 1.0, 1.0)):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    a, b, ab = effects
    # far from zero a product of raw columns would be little else than its columns
    return Z + 5.0, a * Z[:, 0] + b * Z[:, 1] + ab * Z[:, 0] * Z[:, 1] + rng.normal(size=n)


def naive_prior(k, j, m):
    units = sum(max(np.log((m - i) / (i + 1)), np.log(2)) for i in range(k)) + (np.log(20) if k else 0)
    some = comb(k, 2)
    products = sum(max(np.log((some - i) / (i + 1)), np.log(2)) for i in range(j))
    return -units - products - (np.log(20) if j else 0)


@pytest.mark.parametrize("enumerated", [True, False])
def test_the_walk_against_all_subsets_that_keep_products_beside_their_columns(enumerated):
    rng = np.random.default_rng(3)
    n, m = 80, 4
    X = rng.normal(size=(n, m))
    pairs = list(combinations(range(m), 2))
    y = 0.3 * (X[:, 0] - X[:, 1]) + 0.5 * X[:, 0] * X[:, 2] + rng.normal(size=n)
    D = np.column_stack([X, *(X[:, a] * X[:, b] for a, b in pairs)])
    Z, v = (D - D.mean(axis=0)) / D.std(axis=0), (y - y.mean()) / y.std()
    total, weights, masks = m + len(pairs), [], []
    for mask in map(np.array, product([False, True], repeat=total)):
        if all(mask[a] and mask[b] for here, (a, b) in zip(mask[m:], pairs, strict=True) if here):
            covariance = np.eye(n) + 0.1 * Z[:, mask] @ Z[:, mask].T
            evidence = -0.5 * (n - 1) * np.log(v @ np.linalg.solve(covariance, v))
            evidence -= 0.5 * np.linalg.slogdet(covariance)[1]
            weights.append(evidence + naive_prior(mask[:m].sum(), mask[m:].sum(), m))
            masks.append(mask)
    exact = np.exp(weights - logsumexp(weights))
    rows = Rows(lambda rows: SimpleNamespace(X=D[rows], y=y[rows], sample_weight=None, offset=None))
    gram = LazyGram(rows, total)
    gram.grow([slice(0, n)])
    structure = Structure(
        np.empty((0, total), dtype=bool),
        np.empty(0, dtype=np.intp),
        np.zeros(total, dtype=np.int8),
        np.array([(-1, -1)] * m + pairs),
    )
    walker = Walker(
        RidgeSubset(gram, Units(np.arange(total))),
        SizePrior(m),
        Softmax(),
        np.ones(total, dtype=bool),
        np.random.default_rng(0),
        lambda: None,
        n,
        structure=structure,
    )
    few = total if enumerated else 0
    plan = WalkPlan(starts=(1.0,), ramp=80, settle=300, steps=1500, enumerate_up_to=few)
    found = run_walk(walker, plan, tune=False)
    np.testing.assert_allclose(found.inclusion, exact @ masks, atol=1e-9 if enumerated else 0.06)
    np.testing.assert_array_equal(found.visited.subsets[0], np.flatnonzero(masks[np.argmax(exact)]))
    assert all(structure.fits(np.isin(np.arange(total), subset)) for subset in found.visited.subsets)


@pytest.mark.parametrize("effects", [(1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, -1.0)])
def test_a_product_comes_with_its_columns(effects):
    X, y = data(effects=effects)
    fitted = REVS(order=2, random_state=0).fit(X, y)
    assert [fitted.column_names_[c] for c in np.flatnonzero(fitted.coef_)] == ["x0", "x1", "x0:x1"]
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), [0, 1])
    found = next(pair for pair in fitted.interactions_ if pair["selected"])
    assert found["features"] == ["x0", "x1"]
    assert found["inclusion"] > 0.99
    assert found["gain"] > 0.3
    about = X[:, 0] - X[:, 0].mean(), X[:, 1] - X[:, 1].mean()
    design = np.column_stack([np.ones(len(y)), X[:, :2], about[0] * about[1]])
    naive = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose([fitted.intercept_, *fitted.coef_[fitted.coef_ != 0]], naive, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X, average=False), design @ naive, rtol=1e-8)


def test_without_products_nothing_is_different_where_there_are_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 25))
    y = X[:, 0] - X[:, 1] + rng.normal(size=150)
    plain, wide = (REVS(order=order, random_state=0).fit(X, y) for order in (1, 2))
    np.testing.assert_array_equal(wide.support_, plain.support_)
    assert not any(pair["selected"] for pair in wide.interactions_)
    assert not hasattr(plain, "interactions_")


@pytest.mark.parametrize("family", ["binomial", "poisson", "multinomial", "cox"])
def test_products_of_every_family(family):
    X, _ = data(n=400, p=12)
    eta = (X[:, 0] - 5) + (X[:, 1] - 5) + (X[:, 0] - 5) * (X[:, 1] - 5)
    rng = np.random.default_rng(1)
    y = {
        "binomial": rng.random(400) < 1 / (1 + np.exp(-1.5 * eta)),
        "poisson": rng.poisson(np.exp(np.clip(0.4 * eta, None, 4.0))),
        "multinomial": np.digitize(eta + rng.logistic(size=400), [-1.0, 1.0]),
        "cox": {"time": rng.exponential(np.exp(-eta)), "event": np.ones(400)},
    }[family]
    fitted = REVS(family=family, order=2, random_state=0).fit(X, y)
    assert [pair["name"] for pair in fitted.interactions_ if pair["selected"]] == ["x0:x1"]
    assert fitted.support_[:2].all()
    assert len(fitted.predict(X[:7])) == 7
    assert fitted.coef_.shape[-1] == len(fitted.column_names_)


def test_all_that_a_fit_offers_knows_the_products(tmp_path):
    rng = np.random.default_rng(2)
    n = 300
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    frame["city"] = rng.choice(["Oslo", "Paris", "Rome"], size=n)
    rome = (frame.city == "Rome").astype(float)
    y = frame.a + rome + 1.5 * frame.a * rome + 0.5 * rng.normal(size=n)
    fitted = REVS(order=2, transform_as="design", random_state=0).fit(frame, y)
    names = list(fitted.get_feature_names_out())
    assert names == ["a", "city=Paris", "city=Rome", "a:city=Rome"]
    design = fitted.transform(frame)
    about = (frame.a - frame.a.mean()) * (rome - rome.mean())
    np.testing.assert_allclose(np.asarray(design)[:, 3], about, atol=1e-12)
    text = str(fitted.summary())
    assert "They interact: a:city=Rome." in " ".join(text.split())
    assert fitted.predict_interval(frame).shape == (n, 2)
    assert list(fitted.set_params(transform_as="columns").get_feature_names_out()) == ["a", "city"]
    back = load(save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(back.predict(frame), fitted.predict(frame))
    frame.to_parquet(tmp_path / "rows.parquet")
    for average in (True, False):
        parts = list(fitted.predict(tmp_path / "rows.parquet", average=average))
        np.testing.assert_allclose(np.concatenate(parts), fitted.predict(frame, average=average), rtol=1e-10)
    fitted.set_params(transform_as="design")
    parts = list(fitted.transform(tmp_path / "rows.parquet"))
    np.testing.assert_allclose(np.concatenate([np.asarray(part) for part in parts]), np.asarray(design))


def test_rules_for_features_hold_beside_products():
    X, y = data(p=6, effects=(0.0, 0.0, 1.0))
    y = y + 2.0 * (X[:, 2] - 5)
    two = REVS(order=2, max_features=2, random_state=0).fit(X, y)
    assert two.support_.sum() <= 2
    assert not REVS(order=2, never_select=[1], random_state=0).fit(X, y).support_[:2].any()
    three = REVS(order=2, max_features=3, inference="split", random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(three.support_), [0, 1, 2])
    assert three.select(k=3).sum() <= 3


def test_large_data_have_products_too():
    X, y = data(n=9000, p=30, effects=(0.0, 0.1, 0.15))
    fitted = REVS(order=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), [0, 1])
    assert [pair["name"] for pair in fitted.interactions_ if pair["selected"]] == ["x0:x1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": 3}, "order=3 was given; it must be 1 or 2."),
        ({"order": 2, "search": Sarsa()}, "order=2 has no effect with search=Sarsa(...)"),
        ({"order": 2, "checkpoint": "file"}, "checkpoint='file' has no effect with order=2"),
    ],
)
def test_what_cannot_be_is_said(options, words):
    X, y = data(n=30, p=4)
    with pytest.raises(ValueError, match=re.escape(words)):
        REVS(**options).fit(X, y)


def test_sources_are_loaded_and_wide_tables_refused(tmp_path):
    X, y = data(n=30, p=4)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    made = REVS(order=2, random_state=0).fit(tmp_path / "rows.parquet", "y")
    np.testing.assert_allclose(made.coef_, REVS(order=2, random_state=0).fit(frame, "y").coef_)
    with pytest.raises(ValueError, match=r"order=2 was given for 1,600 design columns"):
        REVS(order=2).fit(np.random.default_rng(0).normal(size=(20, 1600)), np.arange(20.0))


@pytest.mark.parametrize("n", [3, 4, 6])
def test_few_rows_and_few_columns(n):
    rng = np.random.default_rng(n)
    for p in (1, 2, 3):
        X = rng.normal(size=(n, p))
        X[:, -1] = X[:, 0]
        for y in (rng.normal(size=n), np.zeros(n)):
            fitted = REVS(order=2, random_state=0).fit(X, y)
            assert np.isfinite(fitted.predict(X)).all()
