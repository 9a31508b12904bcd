"""Rows that belong together."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from rlselect import REVS, load, save
from rlselect.data import open_source
from rlselect.kernels import Spread, learn_spread
from rlselect.subset import Cutoff
from rlselect.subset.revs import _search
from rlselect.subset.revs._dependence import Belonging, count_same_throughout, describe
from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._products import _beside_levels
from rlselect.subset.revs.evidence import Fit, fit_glm

members = np.repeat(np.arange(12), 10)


def clustered(seed=0, family="gaussian", p=6):
    """Columns 0-2 differ within clusters, the others do not; columns 0 and p - 1 have an effect."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, p))
    X[:, 3:] = rng.normal(size=(12, p - 3))[members]
    eta = X[:, 0] + 1.5 * X[:, -1] + 0.8 * rng.normal(size=12)[members]
    if family == "gaussian":
        return X, eta + rng.normal(size=120)
    if family == "binomial":
        return X, np.where(rng.random(120) < 1 / (1 + np.exp(-2.0 * eta)), "yes", "no")
    if family in ("multinomial", "ordinal"):
        codes = np.digitize(2.0 * eta + rng.logistic(size=120), [-1.5, 1.5])
        return X, codes if family == "ordinal" else np.array(["a", "b", "c"])[codes]
    if family == "cox":
        time, end = rng.exponential(np.exp(-2.0 * eta)), 3.0 * rng.exponential(size=120)
        y = np.zeros(120, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = time <= end, np.minimum(time, end)
        return X, y
    return X, rng.poisson(np.exp(0.5 * eta))


def posed(X, y, groups=members, weight=None, time_ordered=False, family="gaussian"):
    extra = {} if groups is None else {"groups": groups}
    table = open_source(X, y, sample_weight=weight, extra=extra)
    table.start(np.random.default_rng(0))
    rows = Belonging.of(table, time_ordered)
    return SimpleNamespace(
        table=table,
        belonging=rows,
        levels=rows.levels,
        together=rows.together,
        family=family,
        joint=None,
        outcome=None,
    )


def test_noise_that_clusters_share_selects_nothing():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(20), 15)
    X = rng.normal(size=(20, 15))[groups]
    y = rng.normal(size=20)[groups] + rng.normal(size=300)
    with pytest.warns(UserWarning, match="give `groups`"):
        alone = REVS(random_state=0).fit(X, y)
    assert alone.support_.sum() >= 3
    together = REVS(random_state=0).fit(X, y, groups=groups)
    assert not together.support_.any()
    assert together.dependence_["clusters"] == 20
    assert 0.3 < together.dependence_["correlation"] < 0.7
    assert together.dependence_["effective_rows"] < 60


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "multinomial", "ordinal", "cox"])
def test_effects_are_found_and_the_summary_tells_of_the_clusters(family):
    X, y = clustered(family=family)
    model = REVS(family=family, random_state=0).fit(X, y, groups=members)
    assert model.support_[0]
    assert not model.support_[1:3].any()
    text = str(model.summary()).replace("\n> ", " ")
    assert "12 clusters of 120 rows" in text
    assert "Evidence is deflated" in text
    folds = "in five held-out folds of whole clusters"
    assert (
        folds if family in ("multinomial", "ordinal", "cox") else "on clusters left out one by one"
    ) in text
    assert model.summary().dict["dependence"] == model.dependence_


def test_clusters_and_series_ask_for_odds_of_three_to_one():
    X, y = clustered()
    y = y - 0.75 * X[:, 0]
    model = REVS(random_state=0).fit(X, y, groups=members)
    between = (model.inclusion_ > 0.5) & (model.inclusion_ <= 0.75)
    assert between[0]
    np.testing.assert_array_equal(model.support_, model.inclusion_ > 0.75)
    for rule in ({}, {"rule": "auto"}):
        np.testing.assert_array_equal(model.select(**rule), model.support_)
    np.testing.assert_array_equal(model.select(threshold=0.5), model.inclusion_ > 0.5)
    assert not model.coef_[between].any()
    text = " ".join(str(model.summary()).replace("\n> ", " ").split())
    assert "selected from a probability of 0.75 on" in text
    assert "would be selected by select(threshold=0.5)" in text
    # another rule is taken at its word, and series ask for as much
    even = REVS(random_state=0, rule=Cutoff(0.5)).fit(X, y, groups=members)
    np.testing.assert_array_equal(even.support_, model.inclusion_ > 0.5)
    assert "from a probability of" not in str(even.summary())
    series = REVS(random_state=0, time_ordered=True).fit(X, y)
    np.testing.assert_array_equal(series.support_, series.inclusion_ > 0.75)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = REVS(random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.support_, alone.inclusion_ > 0.5)


def test_effects_of_whole_clusters_are_not_taken_for_what_rows_share():
    """Until some are known, all of them look like differences between clusters that nothing explains."""
    groups, found, false = np.repeat(np.arange(30), 10), 0, 0
    for seed in (1, 2, 4, 6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 50))[groups]
        mean = X[:, :6] @ (np.resize([0.5, 0.8], 6) * rng.choice([-1.0, 1.0], 6))
        y = mean + np.sqrt(0.3) * rng.normal(size=30)[groups] + np.sqrt(0.7) * rng.normal(size=300)
        support = REVS(random_state=0).fit(X, y, groups=groups).support_
        found, false = found + support[:6].sum(), false + support[6:].sum()
    # a search that learns what rows share before it has found any of them comes to two
    assert found >= 18
    assert false <= 2


@pytest.mark.slow
def test_thirty_clusters_let_in_no_more_false_ones_than_independent_rows():
    groups, found, false = np.repeat(np.arange(30), 10), np.zeros(2), np.zeros(2)
    for seed in range(30):
        rng = np.random.default_rng(7000 + seed)
        X = rng.normal(size=(300, 50))
        X[:, 1::2] = rng.normal(size=(30, 25))[groups]
        mean = X[:, :6] @ (np.resize([0.3, 0.7], 6) * rng.choice([-1.0, 1.0], 6))
        shared, alone, own = rng.normal(size=30)[groups], rng.normal(size=300), rng.normal(size=300)
        for i, noise in enumerate((shared, alone)):
            y = mean + np.sqrt(0.3) * noise + np.sqrt(0.7) * own
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = REVS(random_state=seed).fit(X, y, groups=None if i else groups)
            found[i] += model.support_[:6].sum()
            false[i] += model.support_[6:].sum()
    assert found.min() >= 0.9 * 30 * 6
    # counts of Poisson's kind
    assert false[0] <= false[1] + 2.0 * np.sqrt(false.sum())


def test_labels_may_be_text_or_a_column_and_their_order_is_of_no_matter(tmp_path):
    X, y = clustered()
    names = np.array([f"clinic {9 - g}" if g < 9 else f"site {g}" for g in members])
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(clinic=names, y=y)
    plain = REVS(random_state=0).fit(X, y, groups=members)
    model = REVS(random_state=0).fit(frame, "y", groups="clinic")
    assert list(model.feature_names_in_) == list("abcdef")
    np.testing.assert_allclose(model.inclusion_, plain.inclusion_, atol=1e-10)
    frame.to_parquet(tmp_path / "rows.parquet")
    from_file = REVS(random_state=0).fit(tmp_path / "rows.parquet", "y", groups="clinic")
    np.testing.assert_allclose(from_file.inclusion_, plain.inclusion_, atol=1e-10)
    np.testing.assert_allclose(model.predict(frame), plain.predict(X))


def test_clusters_of_one_row_each_tell_nothing():
    X, y = np.random.default_rng(0).normal(size=(2, 40, 3))
    apart = REVS(random_state=0).fit(X, y[:, 0] + X[:, 0], groups=np.arange(40))
    assert apart.dependence_["effective_rows"] == pytest.approx(40)
    assert np.isnan(apart.dependence_["correlation"])
    assert "Each of 40 rows is a cluster of its own" in str(apart.summary())
    together = REVS(random_state=0).fit(X, y[:, 0] + X[:, 0], groups=np.zeros(40))
    assert np.isnan(together.dependence_["correlation"])
    assert "All rows are one cluster" in str(together.summary())


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_outcomes_that_clusters_share_select_nothing(family):
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(20), 10)
    X, level = rng.normal(size=(20, 5))[groups], rng.normal(size=20)[groups]
    # what twenty clusters may have in common by chance
    X[:, 0] += 0.8 * level
    latent = 2.0 * level + rng.logistic(size=200)
    y = np.digitize(latent, [-1.0, 1.0])
    if family == "cox":
        y = np.array([(True, t) for t in np.exp(latent)], dtype=[("event", bool), ("time", float)])
    alone = REVS(family=family, random_state=0).fit(X, y)
    assert alone.support_.any()
    together = REVS(family=family, random_state=0).fit(X, y, groups=groups)
    assert not together.support_.any()
    assert together.dependence_["clusters"] == 20
    assert 0.1 < together.dependence_["correlation"] < 0.7


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_outcomes_in_the_order_of_time(family):
    rng = np.random.default_rng(8)
    steps = rng.normal(size=(150, 5)) * 0.45
    for t in range(1, 150):
        steps[t] += 0.9 * steps[t - 1]
    X = np.column_stack([rng.normal(size=150), steps[:, :4]])
    latent = 1.5 * X[:, 0] + 2.0 * steps[:, 4]
    y = np.digitize(latent + rng.logistic(size=150), [-1.0, 1.0])
    if family == "cox":
        times = rng.exponential(np.exp(-latent))
        y = np.array([(True, t) for t in times], dtype=[("event", bool), ("time", float)])
    told = REVS(family=family, time_ordered=True, random_state=0).fit(X, y)
    assert list(np.flatnonzero(told.support_)) == [0]
    assert 0.6 < told.dependence_["memory"] <= 1.0
    assert "150 rows in order" in str(told.summary()).replace("\n> ", " ")


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "cox"])
def test_a_weight_is_copies_within_the_cluster(family):
    X, y = clustered(family=family)
    weight = np.random.default_rng(1).integers(0, 3, size=120)
    one = REVS(family=family, random_state=0).fit(X, y, sample_weight=weight, groups=members)
    copies = np.repeat(np.arange(120), weight)
    other = REVS(family=family, random_state=0).fit(X[copies], y[copies], groups=members[copies])
    np.testing.assert_allclose(one.inclusion_, other.inclusion_, atol=1e-5)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    assert one.dependence_ == pytest.approx(other.dependence_, abs=1e-5)


def test_linear_coefficients_are_those_of_generalised_least_squares():
    X, y = clustered()
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=120)
    problem = posed(X, y, weight=weight)
    columns = np.array([0, 4])
    fit, shared = dependent_fit(problem, columns, Fit(0.0, np.zeros(2), np.zeros(2), np.eye(3), 1.0, False))
    A = np.column_stack([np.ones(120), X[:, columns]])
    V = np.diag(1.0 / weight) + shared.spread.size * (members[:, None] == members)
    inverse = np.linalg.inv(V)
    bread = np.linalg.inv(A.T @ inverse @ A)
    coef = bread @ A.T @ inverse @ y
    np.testing.assert_allclose(fit.all_coef, coef)
    left = y - A @ coef
    model = left @ inverse @ left / (weight.sum() - 3) * np.diag(bread)
    sums = np.array([A[members == g].T @ (inverse @ left)[members == g] for g in range(12)])
    robust = np.diag(bread @ sums.T @ sums @ bread) * 12 / 11 * 119 / 117
    np.testing.assert_allclose(fit.errors, np.sqrt(np.maximum(model, robust))[1:])


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_errors_of_other_families_are_those_of_sums_over_clusters(family):
    X, y = clustered(family=family)
    y = (y == "yes").astype(float) if family == "binomial" else y.astype(float)
    problem, columns = posed(X, y, family=family), np.array([0, 4])
    plain = fit_glm(X[:, columns], y, family)
    fit, _ = dependent_fit(problem, columns, plain)
    A = np.column_stack([np.ones(120), X[:, columns]])
    eta = A @ plain.all_coef
    mean, curvature = (1 / (1 + np.exp(-eta)), None) if family == "binomial" else (np.exp(eta), np.exp(eta))
    curvature = mean * (1 - mean) if family == "binomial" else curvature
    bread = np.linalg.inv((A.T * curvature) @ A)
    sums = np.array([A[members == g].T @ (y - mean)[members == g] for g in range(12)])
    robust = np.sqrt(np.diag(bread @ sums.T @ sums @ bread) * 12 / 11 * 119 / 117)
    np.testing.assert_allclose(fit.coef, plain.coef)
    np.testing.assert_allclose(fit.errors, np.maximum(robust[1:], plain.errors), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::rlselect.subset.AutocorrelationWarning")
@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_errors_of_outcomes_are_those_of_clusters_left_out(family):
    X, y = clustered(family=family)
    model = REVS(family=family, always_select=["x0", "x4"], never_select=["x1", "x2", "x3", "x5"])
    told, alone = clone(model).fit(X, y, groups=members), clone(model).fit(X, y)
    np.testing.assert_allclose(told.coef_, alone.coef_)
    left = [clone(model).fit(X[members != g], y[members != g]).coef_ for g in range(12)]
    naive = np.sqrt(11 / 12 * ((np.array(left) - told.coef_) ** 2).sum(axis=0))
    expected = np.maximum(alone._errors, naive)
    np.testing.assert_allclose(told._errors[..., [0, 4]], expected[..., [0, 4]], rtol=0.2)
    assert (told._errors > 1.05 * alone._errors).any()


def test_what_rows_say_is_the_design_effect():
    X, y = clustered()
    found = describe(Spread(0.5), 1.0, posed(X, y).belonging, None)
    assert found.share == pytest.approx(1 / 3)
    assert found.effective == pytest.approx(120 / (1 + 9 / 3))
    series = describe(Spread(1.0, 0.5), 1.0, posed(X, y, groups=None, time_ordered=True).belonging, None)
    assert series.effective == pytest.approx(120 / (1 + 2 * 0.5 * 0.5 / 0.5))
    assert series.n_clusters == 0


def test_features_that_are_the_same_throughout_clusters_are_counted():
    X, y = clustered()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(same="x", site=np.array(list("uvw"))[members % 3])
    frame["visit"] = np.array(list("uvw"))[np.arange(120) % 3]
    for given in (frame, frame.drop(columns=["same", "site", "visit"])):
        found = count_same_throughout(open_source(given, y), members)
        assert found == (given.nunique() > 1).sum() - 3 - ("visit" in given)
    model = REVS(random_state=0).fit(sparse.csr_array(X), y, groups=members)
    assert model.dependence_["same_throughout"] == 3
    assert "same for all rows of a cluster (3 are) they say" in str(model.summary()).replace("\n> ", " ")


def test_halves_of_a_split_of_outcomes_have_whole_clusters():
    X, y = clustered(family="ordinal")
    model = REVS(family="ordinal", random_state=0, inference="split").fit(X, y, groups=members)
    assert model.n_rows_read_ == 60
    assert model.dependence_["clusters"] == 6


def test_halves_of_a_split_have_whole_clusters():
    X, y = clustered()
    model = REVS(random_state=0, inference="split").fit(X, y, groups=members)
    assert model.n_rows_read_ == 60
    assert model.dependence_["clusters"] == 6
    order = np.random.default_rng(0).permutation(12)
    other = y.copy()
    apart = np.isin(members, order[1::2])
    other[apart] = np.random.default_rng(9).normal(size=60) * 50.0
    again = REVS(random_state=0, inference="split").fit(X, other, groups=members)
    np.testing.assert_array_equal(again.inclusion_, model.inclusion_)
    series = REVS(random_state=0, inference="split", time_ordered=True).fit(X, y)
    changed = REVS(random_state=0, inference="split", time_ordered=True).fit(X, np.where(members < 6, y, -y))
    np.testing.assert_array_equal(series.inclusion_, changed.inclusion_)
    share = REVS(random_state=0).stability(X, y, n_splits=1, groups=members)
    assert share[0] == 1.0


def test_a_class_that_one_half_lacks_is_told():
    X, _ = clustered()
    y = np.where(members == 3, "a", "b")
    with pytest.raises(ValueError, match="a class is missing in one half of the clusters"):
        REVS(inference="split").fit(X, y, groups=members)


def test_series_that_remember_select_nothing_of_each_other():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(300, 11)) * 0.5
    for t in range(1, 300):
        steps[t] += 0.85 * steps[t - 1]
    X, y = steps[:, :10], steps[:, 10]
    with pytest.warns(UserWarning, match="set time_ordered=True"):
        alone = REVS(random_state=0).fit(X, y)
    assert alone.support_.sum() >= 3
    told = REVS(random_state=0, time_ordered=True).fit(X, y)
    assert not told.support_.any()
    assert told.dependence_["memory"] == pytest.approx(0.85, abs=0.1)
    assert "300 rows in order" in str(told.summary()).replace("\n> ", " ")
    panel = REVS(random_state=0, time_ordered=True).fit(X, y, groups=np.repeat(["u", "v", "w"], 100))
    assert not panel.support_.any()
    assert panel.dependence_["clusters"] == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"min_effect": 0.1}, "all rows are used"),
        ({"checkpoint": "file"}, "all rows are used"),
    ],
)
def test_what_takes_every_row_for_itself_refuses_clusters(given, words):
    X, _ = clustered()
    with pytest.raises(ValueError, match=words):
        REVS(**given).fit(X, np.arange(120) % 3, groups=members)
    with pytest.raises(ValueError, match="which draws every row for itself"):
        REVS.paper().fit(X, X[:, 0], groups=members)
    with pytest.raises(ValueError, match="time_ordered=True was given with search=Sarsa"):
        REVS.paper(time_ordered=True).fit(X, X[:, 0])


@pytest.mark.parametrize("family", ["gaussian", "poisson", "ordinal"])
def test_products_are_found_beside_clusters(family):
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 10)
    X = rng.normal(size=(200, 6))
    X[:, 3:] = rng.normal(size=(20, 3))[groups]
    eta = 0.6 * X[:, 0] + 0.6 * X[:, 1] + 0.6 * X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=20)[groups]
    y = eta + 0.5 * rng.normal(size=200) if family == "gaussian" else rng.poisson(np.exp(eta))
    if family == "ordinal":
        y = np.digitize(4.0 * eta + rng.logistic(size=200), [-2.0, 0.0, 2.0])
    model = REVS(family=family, order=2, random_state=0).fit(X, y, groups=groups)
    assert [i["name"] for i in model.interactions_ if i["selected"]] == ["x0:x1"]
    assert list(np.flatnonzero(model.support_)) == [0, 1]
    assert model.dependence_["clusters"] == 20


@pytest.mark.parametrize("time_ordered", [False, True])
def test_scores_of_products_are_without_what_rows_share(time_ordered):
    X, y = clustered()
    rows = posed(X, y, time_ordered=time_ordered).belonging
    left, weight = y - X[:, 0] - 1.5 * X[:, 5], np.random.default_rng(3).uniform(0.5, 2.0, size=120)
    found = _beside_levels(rows, X[:, [0, 5]], y - left, left, np.ones(120), weight)
    noise = np.average(left**2, weights=weight)
    design = np.column_stack([np.ones(120), X[:, [0, 5]]])
    spread = learn_spread(rows.levels, design, y, weight / noise, row_noise=noise)
    apart = np.abs(np.subtract.outer(np.arange(120), np.arange(120))) if time_ordered else 0
    shared = spread.size * (members[:, None] == members) * spread.memory**apart
    naive = np.linalg.solve(np.diag(noise / weight) + shared, left) * noise / weight
    np.testing.assert_allclose(found, naive, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial", "ordinal", "cox"])
@pytest.mark.parametrize("time_ordered", [False, True])
def test_odd_tables(family, time_ordered):
    rng = np.random.default_rng(0)
    make = {"gaussian": rng.normal, "poisson": rng.poisson}.get(family)
    X = rng.normal(size=(6, 2))
    y = np.arange(6) % (2 if family == "binomial" else 3) if make is None else make(size=6) + 0.0
    if family == "cox":
        y = np.array([(True, t) for t in rng.exponential(size=6)], dtype=[("event", bool), ("time", float)])
    cases = {
        "one cluster": (X, y, np.zeros(6), None),
        "all alone": (X, y, np.arange(6), None),
        "weights": (X, y, [0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 1, 3]),
        "constant": (np.ones((6, 2)), y, [0, 0, 1, 1, 2, 2], None),
        "twins": (X[:, [0, 0]], y, [0, 0, 1, 1, 2, 2], None),
        "large": (X * 1e9, y, [0, 0, 1, 1, 2, 2], None),
        "level": (X, y, [0, 1, 1, 1, 1, 1], None),
    }
    if make is not None:
        cases["flat"] = (X, np.ones(6), [0, 0, 1, 1, 2, 2], None)
    for X_, y_, groups, weight in cases.values():
        model = REVS(family=family, time_ordered=time_ordered, random_state=0)
        model.fit(X_, y_, sample_weight=weight, groups=groups)
        assert np.isfinite(model.inclusion_).all()
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(X_).astype(float)).all()
        if family in ("multinomial", "ordinal"):
            assert np.isfinite(model.predict_proba(X_)).all()


def test_a_fit_is_kept_and_copied(tmp_path):
    X, y = clustered()
    model = REVS(random_state=0, time_ordered=True).fit(X, y, groups=members)
    assert clone(model).time_ordered
    save(model, tmp_path / "model.rls")
    for other in (load(tmp_path / "model.rls"), pickle.loads(pickle.dumps(model))):
        assert other.dependence_ == model.dependence_
        assert str(other.summary()) == str(model.summary())


def test_wide_and_sparse_tables(monkeypatch):
    monkeypatch.setattr(_search, "WIDE", 50)
    monkeypatch.setattr(_search, "_KEPT", 10)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 60)) * (rng.random((120, 60)) < 0.3)
    X[:, 5] = rng.normal(size=120)
    y = 2.0 * X[:, 5] + rng.normal(size=12)[members] + 0.5 * rng.normal(size=120)
    model = REVS(random_state=0).fit(sparse.csr_array(X), y, groups=members)
    assert model.support_[5]


def test_gaps_in_labels_are_refused():
    X, y = clustered()
    with pytest.raises(ValueError, match="groups"):
        REVS().fit(X, y, groups=np.where(members == 1, np.nan, members))
    with pytest.raises(ValueError, match="groups"):
        REVS().fit(X, y, groups=members[:-1])


def test_several_responses_are_served_one_by_one():
    X, y = clustered()
    Y = np.column_stack([y, X[:, 1] + 0.5 * y])
    model = REVS(random_state=0, responses="each").fit(X, Y, groups=members)
    alone = REVS(random_state=0).fit(X, y, groups=members)
    np.testing.assert_allclose(model.estimators_[0].inclusion_, alone.inclusion_)
    assert model.estimators_[1].dependence_["clusters"] == 12
    with pytest.raises(ValueError, match="use responses='each'"):
        REVS().fit(X, Y, groups=members)
    with pytest.raises(ValueError, match="use responses='each'"):
        REVS(time_ordered=True).fit(X, Y)


def test_rules_for_subsets_hold_with_clusters():
    X, y = clustered()
    few = REVS(random_state=0, max_features=1).fit(X, y, groups=members)
    assert few.support_.sum() == 1
    negative = REVS(random_state=0, signs={"x0": "-"}).fit(X, y, groups=members)
    assert not negative.support_[0]


def test_classes_that_whole_clusters_hold_leave_nothing_to_compare():
    X, _ = clustered()
    # the middle class lies in one cluster: without it, its cut points meet
    y = np.where(members == 11, 1, np.arange(120) % 2 * 2)
    model = REVS(family="ordinal", random_state=0).fit(X, y, groups=members)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isnan(model._average.loss)
