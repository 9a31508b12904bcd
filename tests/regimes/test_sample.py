"""Weights and clusters of subjects against sums written out, and against rows that are repeated."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData, regime_value
from rlselect.regimes import PolicyTree
from rlselect.regimes._estimates import from_scores
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._sample import Sample, everyone_alike


def test_a_weighted_mean_and_its_linearised_standard_error():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=50), rng.uniform(0.5, 2.0, size=50)
    found = from_scores(scores, "dr", 0.95, Sample(weights / weights.mean(), None))
    mean = np.sum(weights * scores) / weights.sum()
    assert found.value == pytest.approx(mean)
    variance = np.sum(np.square(weights * (scores - mean))) / weights.sum() ** 2
    assert found.standard_error == pytest.approx(np.sqrt(variance * 50 / 49))


def test_clusters_add_up():
    rng = np.random.default_rng(1)
    scores, clusters = rng.normal(size=60), np.repeat(np.arange(12), 5)
    scores = scores + np.repeat(rng.normal(size=12), 5)
    found = from_scores(scores, "dr", 0.95, Sample(np.ones(60), clusters))
    totals = [np.sum(scores[clusters == c] - scores.mean()) for c in range(12)]
    assert found.value == pytest.approx(scores.mean())
    assert found.standard_error == pytest.approx(np.sqrt(12 / 11 * np.sum(np.square(totals))) / 60)
    # a difference of two values of the same clusters
    other = from_scores(0.5 * scores, "dr", 0.95, Sample(np.ones(60), clusters))
    assert found.less(other).standard_error == pytest.approx(0.5 * found.standard_error)
    plain = from_scores(scores, "dr", 0.95, everyone_alike(60))
    assert plain.standard_error < found.standard_error


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x, site = rng.normal(size=n), rng.permutation(np.arange(n) % 15)
    action = rng.choice(["a", "b"], size=n)
    reward = x * (action == "a") + 0.5 * rng.normal(size=n)
    return {"x": x, "A": action, "R": reward, "w": 1.0 + np.arange(n) % 3, "site": site}


STAGE = {"history": ["x"], "action": "A", "reward": "R", "propensity": {"a": 0.5, "b": 0.5}}


def test_weights_count_like_repeated_subjects():
    columns = table()
    often = {name: np.repeat(values, columns["w"].astype(int)) for name, values in columns.items()}
    weighted = TrialData.from_wide(columns, [STAGE], sample_weight="w")
    repeated = TrialData.from_wide(often, [STAGE])
    for regime, method in (("observed", "dr"), (["a"], "ipw")):
        found = [regime_value(trial, regime, method=method).value for trial in (weighted, repeated)]
        assert found[0] == pytest.approx(found[1])
    assert regime_value(weighted, "observed").value != pytest.approx(columns["R"].mean())
    machines = []
    for trial in (weighted, repeated):
        learner = QLearning(model="linear", selection=None, random_state=0)
        subjects, weights = Evaluation(trial, 1.0, 1.0, 5, np.random.default_rng(0)).learners(0)
        machines.append((len(subjects), weights.sum(), learner))
    assert machines[0][:2] == (120, pytest.approx(120.0))
    assert machines[1][0] == int(columns["w"].sum())


def test_trees_and_learners_see_weights():
    """Those who gain from "a" hardly count: a tree without questions takes what is best for the others."""
    rng = np.random.default_rng(3)
    x, action = rng.choice([-1.0, 1.0], size=200, p=[0.3, 0.7]), rng.choice(["a", "b"], size=200)
    columns = {"x": x, "A": action, "R": x * (action == "a") + 0.1 * rng.normal(size=200)}
    columns["w"] = np.where(x > 0, 0.01, 1.0)
    for weight, best in ((None, "a"), ("w", "b")):
        trial = TrialData.from_wide(columns, [STAGE], sample_weight=weight)
        tree = QLearning(model="linear", random_state=0).fit(trial).policy_tree(depth=0, random_state=0)
        assert isinstance(tree, PolicyTree)
        assert set(tree.predict(trial)) == {best}


def test_clusters_stay_in_one_fold_and_say_so():
    trial = TrialData.from_wide(table(), [STAGE], cluster="site")
    evaluation = Evaluation(trial, 1.0, 1.0, 5, np.random.default_rng(0))
    for folds in evaluation.splits:
        for site in range(15):
            assert len(set(folds[trial.sample.clusters == site])) == 1
        assert len(set(folds)) == 5
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert len(learner.value_.scores) == 15
    assert learner.summary().dict["facts"]["Subjects"] == 120
    assert "15 independent clusters" in " ".join(learner.summary().dict["notes"])


def test_long_tables_have_one_weight_and_cluster_per_subject():
    columns = table(40)
    long = {name: np.repeat(values, 2) for name, values in columns.items()}
    long |= {"id": np.repeat(np.arange(40), 2), "t": np.tile([1, 2], 40)}
    roles = {"id": "id", "stage": "t", "action": "A", "reward": "R", "covariates": ["x"]}
    trial = TrialData.from_long(long, **roles, sample_weight="w", cluster="site")
    assert np.allclose(trial.sample.weights, columns["w"] / columns["w"].mean())
    long["w"] = long["w"] + np.arange(80) * (np.arange(80) == 7)
    with pytest.raises(ValueError, match="sample_weight differs between the rows of a subject"):
        TrialData.from_long(long, **roles, sample_weight="w")
    with pytest.raises(ValueError, match=r"cluster has 2 different value\(s\); at least 4"):
        TrialData.from_wide(columns, [STAGE], cluster=np.arange(40) % 2)
