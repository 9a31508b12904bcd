"""Limits, groups of which some may be in, and signs: against enumeration of all subsets."""

import re
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from scipy.special import logsumexp
from sklearn.base import clone

from rlselect import REVS, load, save
from rlselect.data._units import Units
from rlselect.learn import Softmax
from rlselect.subset import Cutoff, Sarsa
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs._two_priors import run_walk
from rlselect.subset.revs._walk import SizePrior, Walker, WalkPlan
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows

P = 14


def data(seed=0, n=150, p=P):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1))
    effects = np.zeros(p)
    effects[:6] = 0.9, 0.8, -0.7, 0.6, 0.5, -0.4
    return X, X @ effects + rng.normal(size=n)


def rules(p, limits=(), signs=None):
    members = np.array([np.isin(np.arange(p), which) for which, _ in limits], dtype=bool).reshape(-1, p)
    most = np.array([most for _, most in limits], dtype=np.intp)
    signs = np.zeros(p, dtype=np.int8) if signs is None else np.asarray(signs, dtype=np.int8)
    return Structure(members, most, signs, np.full((p, 2), -1))


def make_walker(X, y, structure):
    rows = Rows(lambda rows: SimpleNamespace(X=X[rows], y=y[rows], sample_weight=None, offset=None))
    gram = LazyGram(rows, X.shape[1])
    gram.grow([slice(0, len(y))])
    units = Units(np.arange(X.shape[1]))
    return Walker(
        RidgeSubset(gram, units),
        SizePrior(X.shape[1]),
        Softmax(),
        np.ones(X.shape[1], dtype=bool),
        np.random.default_rng(0),
        lambda: None,
        len(y),
        structure=structure,
    )


def naive_prior(k, m):
    price = sum(max(np.log((m - i) / (i + 1)), np.log(2.0)) for i in range(k))
    return -price - (np.log(20.0) if k else 0.0)


def naive_ridge(X, y, columns, slab):
    Z, v = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    covariance = np.eye(len(y)) + slab * Z[:, columns] @ Z[:, columns].T
    quad = v @ np.linalg.solve(covariance, v)
    return -0.5 * (len(y) - 1) * np.log(quad) - 0.5 * np.linalg.slogdet(covariance)[1]


def naive_fit(X, y, columns, slab):
    Z, v = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    A = Z[:, columns]
    return np.linalg.solve(A.T @ A + np.eye(len(columns)) / slab, A.T @ v)


# ---- the walk against all subsets that follow the rules ----


@pytest.mark.parametrize(
    ("limits", "signs"),
    [
        ([(np.arange(7), 2)], None),
        ([([0, 1, 2], 1)], None),
        ([([0, 1, 2], 1), ([2, 3, 4], 1), (np.arange(7), 3)], None),
        ([], [1, 1, 1, 0, 0, 0, 0]),
        ([(np.arange(7), 2)], [0, -1, 0, 1, 0, 0, 1]),
    ],
)
@pytest.mark.parametrize("enumerated", [True, False])
def test_the_walk_visits_what_may_be_selected_by_its_posterior(limits, signs, enumerated):
    X, y = data(1, n=60, p=7)
    # faint enough for several subsets to count
    y = 0.4 * y + np.random.default_rng(2).normal(size=60)
    structure = rules(7, limits, signs)
    walker = make_walker(X, y, structure)
    plan = WalkPlan(starts=(1.0,), ramp=80, settle=300, steps=700, enumerate_up_to=7 if enumerated else 0)
    found = run_walk(walker, plan, tune=False)
    masks, weights = [], []
    for mask in map(np.array, product([False, True], repeat=7)):
        columns = np.flatnonzero(mask)
        right = np.all(naive_fit(X, y, columns, 0.1) * structure.signs[columns] >= 0)
        if right and structure.fits(mask):
            masks.append(mask)
            # the density of a coefficient of known sign is twice as high where it may be
            known = np.log(2.0) * np.count_nonzero(structure.signs[columns])
            weights.append(naive_ridge(X, y, columns, 0.1) + naive_prior(mask.sum(), 7) + known)
    exact = np.exp(weights - logsumexp(weights))
    np.testing.assert_allclose(found.inclusion, exact @ masks, atol=1e-9 if enumerated else 0.06)
    np.testing.assert_array_equal(found.visited.subsets[0], np.flatnonzero(masks[np.argmax(exact)]))
    admissible = {tuple(np.flatnonzero(mask)) for mask in masks}
    assert {tuple(subset) for subset in found.visited.subsets} <= admissible


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("size", "group"), [(3, ()), (2, (0, 1)), (4, (0, 1, 2, 3))])
def test_the_best_subset_of_a_size_is_the_one_of_least_squares(seed, size, group):
    X, y = data(seed)
    options = {"at_most": {group: 1}} if group else {}
    chosen = REVS(max_features=size, random_state=seed, **options).fit(X, y).support_
    centred, response = X - X.mean(axis=0), y - y.mean()
    gram, cross = centred.T @ centred, centred.T @ response
    explained = {
        which: cross[[*which]] @ np.linalg.solve(gram[np.ix_(which, which)], cross[[*which]])
        for which in combinations(range(P), int(chosen.sum()))
        if len(set(which) & set(group)) <= 1
    }
    assert tuple(np.flatnonzero(chosen)) == max(explained, key=explained.get)
    assert chosen.sum() == size or group == (0, 1, 2, 3)


def test_the_best_coefficients_of_right_signs_are_those_of_a_smaller_subset():
    # why a subset with a wrong sign need not be priced: the proof is the condition of Kuhn and Tucker
    for seed in range(20):
        X, y = data(seed, n=60)
        signed, _ = nnls(X, y)
        inside = signed > 0
        free = np.linalg.lstsq(X[:, inside], y, rcond=None)[0]
        np.testing.assert_allclose(free, signed[inside], atol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "ordinal", "cox"])
def test_limits_and_signs_hold_for_every_family(family):
    X, y = data(3, n=200, p=10)
    target = {
        "gaussian": y,
        "binomial": y > 0,
        "poisson": np.random.default_rng(0).poisson(np.exp(0.4 * y)),
        "ordinal": np.digitize(y, [-1, 1]),
        "cox": {"time": np.exp(-y), "event": np.ones(200)},
    }[family]
    options = {"max_features": 3, "at_most": {(0, 3): 1}, "signs": {1: "-", 2: "-", 4: "+"}}
    fitted = REVS(family=family, random_state=0, **options).fit(X, target)
    assert 1 <= fitted.support_.sum() <= 3
    assert fitted.support_[[0, 3]].sum() <= 1
    assert not fitted.support_[1]
    for coef in (fitted.coef_, fitted.coef_average_):
        assert np.all(coef[[1, 2, 4]] * [-1, -1, 1] >= 0)
    np.testing.assert_array_equal(np.flatnonzero(fitted.coef_), np.flatnonzero(fitted.support_))
    # what may be measured is limited: predictions need no other columns
    assert not fitted.average_
    changed = X.copy()
    changed[:, ~fitted.support_] = 0.0
    np.testing.assert_array_equal(fitted.predict(changed), fitted.predict(X))


def test_large_data_follow_the_rules_too():
    X, y = data(4, n=8000, p=20)
    free = REVS(random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(free.support_), np.arange(6))
    for family, target in (("gaussian", y), ("binomial", y > 0)):
        few = REVS(family=family, max_features=2, random_state=0).fit(X, target)
        assert few.support_.sum() == 2
        one = REVS(family=family, at_most={(0, 1, 3): 1}, signs={2: "+"}, random_state=0).fit(X, target)
        assert one.support_[[0, 1, 3]].sum() == 1
        assert not one.support_[2]
    pairs = [(i, j) for i in range(20) for j in range(i)]
    squares = [np.linalg.lstsq(np.c_[np.ones(8000), X[:, pair]], y, rcond=None)[1][0] for pair in pairs]
    best = REVS(max_features=2, random_state=0).fit(X, y).support_
    assert set(np.flatnonzero(best)) == set(pairs[int(np.argmin(squares))])


def test_wide_data_are_screened_under_the_rules():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 2100))
    y = X[:, 3] - X[:, 2050] + 0.8 * X[:, 7] + rng.normal(size=120)
    fitted = REVS(max_features=2, signs={2050: "+"}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), [3, 7])


def test_more_than_half_is_not_asked_of_features_that_exclude_each_other():
    rng = np.random.default_rng(0)
    x = rng.normal(size=150)
    X = np.column_stack([x + 0.05 * rng.normal(size=150) for _ in range(3)])
    X = np.column_stack([X, rng.normal(size=(150, 15))])
    y = x + rng.normal(size=150)
    fitted = REVS(at_most={(0, 1, 2): 1}, random_state=0).fit(X, y)
    assert fitted.inclusion_[:3].max() < 0.8
    assert fitted.inclusion_[:3].sum() > 0.95
    assert fitted.support_[:3].sum() == 1
    np.testing.assert_array_equal(fitted.select(), fitted.support_)
    assert fitted.select(k=3)[:3].sum() == 1
    assert fitted.select(rule=Cutoff(0.0))[:3].sum() == 1


# ---- reading the options ----


def test_names_groups_text_and_gaps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    frame["city"] = rng.choice(["Oslo", "Paris", "Rome"], size=200)
    y = frame.a + frame.b - frame.c - (frame.city == "Rome") + 0.5 * rng.normal(size=200)
    frame.loc[::9, "d"] = np.nan
    options = {"missing": "indicator", "random_state": 0, "feature_groups": {"ab": ["a", "b"]}}
    fitted = REVS(max_features=2, **options).fit(frame, y)
    # a and b count as one
    assert set(fitted.get_feature_names_out()) in ({"a", "b", "c"}, {"a", "b", "city"})
    signed = REVS(signs="+", **options).fit(frame, y)
    # text has no sign unless it is named
    assert set(signed.get_feature_names_out()) == {"a", "b", "city"}
    assert "city" not in REVS(signs={"city": "+"}, **options).fit(frame, y).get_feature_names_out()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_features": 0}, "max_features=0 was given; it must be None or an integer of at least 1."),
        ({"max_features": True}, "max_features=True was given"),
        ({"at_most": [("x0", 1)]}, "at_most=[('x0', 1)] was given; it must be None or a mapping"),
        ({"at_most": {("x0", "x1"): -1}}, "at_most[('x0', 'x1')]=-1 was given; it must be an integer"),
        ({"at_most": {("x0", "nope"): 1}}, "nope"),
        ({"signs": "up"}, "signs='up' was given; it must be '+' or '-'."),
        ({"signs": {"x1": 1}}, "signs['x1']=1 was given; it must be '+' or '-'."),
        ({"signs": 3}, "signs=3 was given; it must be None"),
        ({"signs": {"nope": "+"}}, "nope"),
        ({"signs": "+", "always_select": ["x2"]}, "signs and always_select both name 'x2'"),
        ({"max_features": 1, "always_select": ["x2", "x1"]}, "always_select has 2 features of which max"),
        ({"at_most": {("x1", "x2"): 1}, "always_select": [1, 2]}, "of which at_most[('x1', 'x2')] allows 1"),
        ({"signs": "+", "family": "multinomial"}, "signs='+' was given with family='multinomial'"),
        ({"max_features": 2, "search": Sarsa()}, "max_features=2 has no effect with search=Sarsa"),
    ],
)
def test_what_cannot_be_is_said(options, words):
    X, y = data(p=6)
    with pytest.raises(ValueError, match=re.escape(words)):
        REVS(**options).fit(X, np.digitize(y, [-1, 1]) if options.get("family") else y)


def test_rules_without_any_subset_but_the_empty_one():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(80, 15)))
    y = -X.sum(axis=1)
    for target in (y, y > np.median(y)):
        fitted = REVS(signs="+", random_state=0).fit(X, target)
        assert (fitted.coef_ >= 0).all()
        assert (fitted.coef_average_ >= 0).all()
    assert not REVS(at_most={tuple(range(15)): 0}, random_state=0).fit(X, y).support_.any()


def test_rules_survive_saving_and_copying(tmp_path):
    X, y = data(p=8)
    made = REVS(max_features=2, at_most={("x0", "x1"): 1}, signs={"x2": "-"}, random_state=0)
    fitted = clone(made).fit(X, y)
    back = load(save(fitted, tmp_path / "model"))
    assert back.get_params()["at_most"] == {("x0", "x1"): 1}
    np.testing.assert_array_equal(back.select(k=5), fitted.select(k=5))
    assert fitted.select(k=5).sum() <= 2
    assert "at most 2" in str(fitted.summary())


def test_split_inference_keeps_the_signs():
    X, y = data(6, n=120, p=8)
    fitted = REVS(signs={2: "+", 5: "+", 7: "+"}, inference="split", random_state=0).fit(X, y)
    assert (fitted.coef_[[2, 5, 7]] >= 0).all()


def test_structure_of_some_units():
    structure = rules(4, [([0, 1], 1), ([1, 2, 3], 2)], [1, 0, -1, 0])
    few = structure.narrowed(np.array([1, 3]), np.array([1, 3]))
    np.testing.assert_array_equal(few.members, [[True, False], [True, True]])
    np.testing.assert_array_equal(few.signs, [0, 0])
    chosen, none = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)
    np.testing.assert_array_equal(
        structure.trimmed(chosen, none, np.array([0.4, 0.9, 0.2, 0.8])), [False, True, False, True]
    )


def test_several_responses_share_the_rules():
    X, y = data(7, n=120, p=9)
    Y = np.column_stack([y, X[:, 0] - X[:, 3] + np.random.default_rng(1).normal(size=120)])
    shared = REVS(max_features=2, random_state=0).fit(X, Y)
    assert shared.support_.sum() == 2
    each = REVS(signs="+", responses="each", random_state=0).fit(X, Y)
    assert (each.coef_ >= 0).all()
    for options, words in (
        ({"signs": "+"}, "signs='+' has no effect with one"),
        ({"order": 2}, "order=2 has no"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            REVS(**options).fit(X, Y)
