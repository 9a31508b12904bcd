"""Tasks that joblib runs: moved to a cluster, or to other processes, they give the same answer."""

import threading

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LassoCV, Ridge
from threadpoolctl import threadpool_info, threadpool_limits

from rlselect import (
    REVS,
    ActorCriticPredictor,
    DatumwiseClassifier,
    DivideAndConquer,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    TrialData,
)
from rlselect._parallel import alone, run_tasks
from rlselect.datumwise import PolicyIteration
from rlselect.regimes import regime_value
from rlselect.simulate import make_regime_trial, make_revs


def chains_of_a_walk(**jobs):
    data = make_revs(150, 30, n_nonzero=10, random_state=1)
    return REVS(random_state=0, **jobs).fit(data.X, data.y).inclusion_


def folds_that_vote(**jobs):
    data = make_revs(150, 30, n_nonzero=10, random_state=1)
    return DivideAndConquer(LassoCV(cv=3), n_folds=4, random_state=0, **jobs).fit(data.X, data.y).inclusion_


def refits_without_a_feature(**jobs):
    data = make_revs(60, 6, n_nonzero=5, random_state=1)
    fit = RiskRFE(Ridge(), **jobs).fit(data.X, data.y)
    return np.append(fit.ranking_, fit.path_["risk"])


def candidate_subsets(**jobs):
    data = make_revs(40, 5, n_nonzero=5, random_state=1)
    fit = ActorCriticPredictor(predictor=Ridge(), max_iter=1, random_state=0, **jobs).fit(data.X, data.y)
    return fit.inclusion_


def restarts_of_policy_iteration(**jobs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    settings = PolicyIteration(n_iter=2, n_restarts=2, exact_states=0)
    fit = DatumwiseClassifier(search=settings, random_state=0, **jobs).fit(X, X[:, 0] + X[:, 1] > 0)
    return np.append(fit.unit_inclusion_, fit.value_)


def trial():
    simulated = make_regime_trial("I", 60, 5, random_state=1)
    return TrialData.from_wide(simulated.columns, simulated.stages)


def folds_of_a_stage(**jobs):
    fit = QLearning(model="linear", random_state=0, **jobs).fit(trial())
    return np.append(fit.value_.scores, [len(names) for names in fit.selected_ + fit.tailoring_])


def folds_that_learn_a_regime(**jobs):
    learner = QLearning(model="linear", selection=None, random_state=0, **jobs)
    return regime_value(trial(), learner, method="ipw", n_folds=2, random_state=0).scores


def folds_and_refits_of_curves(**jobs):
    rng = np.random.default_rng(0)
    ids, times = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    x = rng.standard_normal((300, 1))
    y = 1 + times / 5 * x[:, 0] + rng.standard_normal(300)
    fit = TemporalProcessRegression(bandwidth="cv", **jobs).fit(x, y, id=ids, time=times)
    band = fit.bands(resample="refit", n_draws=60, random_state=0)
    return np.concatenate([fit.path_["score"], np.ravel(band.lower)])


ROOMS = [
    chains_of_a_walk,
    folds_that_vote,
    refits_without_a_feature,
    candidate_subsets,
    restarts_of_policy_iteration,
    folds_of_a_stage,
    folds_that_learn_a_regime,
    folds_and_refits_of_curves,
]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("work", ROOMS)
def test_a_cluster_gives_the_same_answer(work, cluster, monkeypatch):
    from joblib._dask import DaskDistributedBackend

    sent, submit = [], DaskDistributedBackend.submit

    def count(self, *args, **kwargs):
        sent.append(1)
        return submit(self, *args, **kwargs)

    monkeypatch.setattr(DaskDistributedBackend, "submit", count)
    with joblib.parallel_config("dask"):
        there = work()
    assert len(sent) > 1
    np.testing.assert_array_equal(there, work())


@pytest.mark.parametrize("work", ROOMS)
def test_n_jobs_says_how_many_tasks_run_at_a_time(work, monkeypatch):
    asked, call = [], joblib.Parallel.__call__

    def watch(self, tasks):
        asked.append(self.n_jobs)
        return call(self, tasks)

    monkeypatch.setattr(joblib.Parallel, "__call__", watch)
    with joblib.parallel_config("threading"):
        two = work(n_jobs=2)
    assert 2 in asked
    np.testing.assert_array_equal(two, work(n_jobs=1))


def test_tasks_run_on_one_thread_of_blas_and_leave_the_others_as_they_were():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    met = threading.Barrier(2)

    def work(number):
        met.wait(10)
        return number, threads()

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        done = run_tasks(work, ((k,) for k in range(2)), n_jobs=2, prefer="threads")
        assert [number for number, _ in done] == [0, 1]
        assert all(set(seen) <= {1} for _, seen in done)
        assert threads() == before
        with pytest.raises(ZeroDivisionError):
            alone(lambda: 1 / 0)
        assert threads() == before
