import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rlselect import REVS, CorrelationFeatureSelection, ThompsonSelector, compare
from rlselect.subset import ComparisonDisplay
from rlselect.subset.rivals._any_selector import chosen_columns, column_order
from rlselect.subset.rivals._compare import stability

mpl.use("agg")


def linear(n=150, p=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 2.0 * X[:, 0] - X[:, 5] + rng.standard_normal(n)


def test_selectors_of_any_library_stand_side_by_side():
    X, y = linear()
    truth = np.isin(np.arange(10), [0, 5])
    selectors = {"REVS": REVS(random_state=0), "lasso": LassoCV(), "best": SelectKBest(f_regression, k=3)}
    found = compare(selectors, X, y, truth=truth, cv=3, sizes=(1, 2, 50))
    revs, lasso, best = found.rows
    assert [row["selector"] for row in found.rows] == ["REVS", "lasso", "best"]
    assert (revs["precision"], revs["recall"], revs["f1"], revs["stability"]) == (1.0, 1.0, 1.0, 1.0)
    assert lasso["selected"] > 2
    assert lasso["precision"] < 1.0
    assert best["f1"] == pytest.approx(0.8)
    assert found.sizes == (1, 2)
    assert revs["score at 2"] == revs["score"] > revs["score at 1"]
    assert found.to_arrow().column_names == list(revs)
    assert "score at 2" in str(found)


def test_scores_are_those_of_a_plain_loop():
    X, y = linear(seed=1)
    labels = np.where(y > 0, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcdefghij")).assign(target=labels)
    cv, tree = StratifiedKFold(3), DecisionTreeClassifier(max_depth=3, random_state=0)
    found = compare([CorrelationFeatureSelection()], frame, "target", cv=cv, learner=tree, truth=["a", "f"])
    scores = []
    for train, test in cv.split(X, labels):
        kept = CorrelationFeatureSelection().fit(X[train], labels[train]).support_
        guess = tree.fit(X[train][:, kept], labels[train]).predict(X[test][:, kept])
        scores.append(accuracy_score(labels[test], guess))
    assert found.metric == "accuracy"
    assert found.rows[0]["score"] == pytest.approx(np.mean(scores))


def test_scores_do_not_depend_on_the_scale_of_the_target():
    X, y = linear()
    one, large = (compare({"cfs": CorrelationFeatureSelection()}, X, t, cv=3) for t in (y, 1e4 * y + 3e5))
    assert large.rows[0]["score"] == pytest.approx(one.rows[0]["score"], rel=1e-3)
    assert one.rows[0]["score"] > 0.6


def test_stability_is_the_corrected_measure():
    rng = np.random.default_rng(0)
    random = np.mean([stability(rng.random((5, 40)) < 0.3) for _ in range(300)])
    assert abs(random) < 0.02
    assert np.isnan(stability(np.zeros((3, 4), dtype=bool)))


def test_a_selector_that_fails_or_finds_nothing_has_a_row():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    found = compare({"nothing": REVS(random_state=0), "broken": SelectKBest(f_regression, k=99)}, X, y, cv=2)
    nothing, broken = found.rows
    assert nothing["selected"] == 0.0
    assert nothing["score"] <= 0.0
    assert np.isnan(nothing["stability"])
    if broken["failures"]:
        assert np.isnan(broken["score"])


def test_a_selector_that_fits_no_fold_says_why():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 3)), np.repeat(["a", "b", "c"], 20)
    X[:, 1] += np.repeat([-3.0, 0.0, 3.0], 20)
    arms = ThompsonSelector(n_rounds=30, random_state=0)
    scaled = make_pipeline(StandardScaler(), SelectKBest(k=1), GaussianNB())
    sparse = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga"))
    no_selector = GaussianNB()
    with pytest.warns(UserWarning, match=r"Gaussian.* no figures.*neither support_ nor coef_ after fit"):
        found = compare([no_selector, arms, scaled, sparse], X, y, cv=2, truth=[1])
    assert [row["failures"] for row in found.rows] == [2, 0, 0, 0]
    assert np.isnan(found.rows[0]["score"])
    assert [row["recall"] for row in found.rows[1:]] == [1.0, 1.0, 1.0]


def test_a_wrong_truth_is_one_sentence():
    X, y = linear(60)
    with pytest.raises(ValueError, match=r"^truth=.*was given; it must be .*\.$"):
        compare([LassoCV()], X, y, truth=["z"])
    with pytest.raises(ValueError, match="selectors is empty"):
        compare([], X, y)
    with pytest.raises(ValueError, match=r"^cv=5 was given for 4 rows; it must be .*\.$"):
        compare([LassoCV()], X[:4], y[:4])


@pytest.mark.parametrize("given", ["revs", ["revs"], LassoCV, [LassoCV], None])
def test_what_is_no_selector_is_named(given):
    with pytest.raises(TypeError, match=r"(revs|LassoCV|None).* among the selectors; .* a method fit"):
        compare(given, *linear(60))


def test_one_selector_is_enough():
    scaled = make_pipeline(StandardScaler(), SelectKBest(k=1))
    found = compare(scaled, *linear(60), cv=2, sizes=2, task="regression")
    assert [row["selector"] for row in found.rows] == ["Pipeline"]
    assert found.sizes == (2,)


def test_two_of_a_kind_have_numbers_and_a_picture():
    X, y = linear(80)
    found = compare([LassoCV(cv=3), LassoCV(cv=4)], X, y, cv=2, sizes=(1, 3))
    assert [row["selector"] for row in found.rows] == ["LassoCV 1", "LassoCV 2"]
    left, right = ComparisonDisplay.from_comparison(found).axes_
    assert [line.get_label() for line in left.lines] == ["LassoCV 1", "LassoCV 2"]
    assert right.get_xlabel() == "stability"


def test_a_model_inside_of_a_selector_orders_its_columns():
    X = np.random.default_rng(0).standard_normal((200, 4))
    selector = SelectFromModel(LassoCV(), max_features=3, threshold=-np.inf).fit(X, X @ [0.1, 0.0, 3.0, 1.0])
    chosen = chosen_columns(selector, 4)
    np.testing.assert_array_equal(column_order(selector, chosen), [2, 3, 0, 1])
    forest = DecisionTreeClassifier().fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="inside of scikit-learn's SelectFromModel"):
        chosen_columns(forest, 4)
