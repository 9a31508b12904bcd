"""Several chains on large data: what they find, and that they share their passes over the rows."""

import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from rlselect import REVS
from rlselect.data._units import Units
from rlselect.learn import Softmax
from rlselect.subset.revs import _chains
from rlselect.subset.revs._chains import GLM_STARTS, LINEAR_STARTS, _chain, _climb, better_subset
from rlselect.subset.revs._walk import SizePrior, Walker
from rlselect.subset.revs.evidence import _gram, _ridge_subset
from rlselect.subset.revs.evidence._glm_subset import GlmSubset
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows

N, P = 8000, 60


def crowd(rng, n=N, p=P, share=0.95):
    """Blocks of five columns that nearly repeat each other."""
    common = np.repeat(rng.standard_normal((n, p // 5)), 5, axis=1)
    return np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal((n, p))


def problem(seed, family="gaussian", share=0.95, effects=12, size=0.6):
    rng = np.random.default_rng([seed, 3])
    X = crowd(rng, share=share)
    coef = np.zeros(P)
    coef[rng.choice(P, effects, replace=False)] = rng.choice([-size, size], effects)
    eta = X @ coef
    y = eta + 1.4 * rng.standard_normal(N) if family == "gaussian" else rng.random(N) < 1 / (1 + np.exp(-eta))
    return X, y.astype(float), coef != 0


def make_rows(X, y, passes, blocks=4):
    def take(rows):
        return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=None, offset=None)

    rows = Rows(take)
    serve = rows._serve
    # who asked, pass by pass
    rows._serve = lambda asked: (passes.append(len(asked)), serve(asked))[1]
    return rows, [slice(i, len(y), blocks) for i in range(blocks)]


def make_walker(X, y, family, passes):
    rows, where = make_rows(X, y, passes)
    units = Units(np.arange(X.shape[1]))
    if family == "gaussian":
        gram = LazyGram(rows, X.shape[1], 2)
        gram.grow(where)
        state = RidgeSubset(gram, units)
    else:
        for block in where:
            rows.append(block)
        state = GlmSubset(rows, units, family)
    allowed = np.ones(X.shape[1], dtype=bool)
    rng = np.random.default_rng(0)
    return Walker(state, SizePrior(X.shape[1]), Softmax(), allowed, rng, lambda: None, len(y))


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_chains_find_alone_what_they_find_side_by_side(family):
    X, y, _ = problem(0, family)
    passes, starts = [], LINEAR_STARTS if family == "gaussian" else GLM_STARTS
    walker = make_walker(X, y, family, passes)
    walker.climb()
    passes.clear()
    alone = [_chain(walker, start, [5, i], walker.tick) for i, start in enumerate(starts)]
    each = []
    for chain, start in zip(alone, starts, strict=True):
        _climb(chain, start, family == "gaussian")
        each.append(len(passes))
        passes.clear()
    subset = walker.state.mask.copy()
    trajectories = better_subset(walker, family == "gaussian", 5)
    assert [len(t) for t in trajectories] == [len(chain.trajectory) for chain in alone]
    for trajectory, chain in zip(trajectories, alone, strict=True):
        assert np.array_equal(trajectory.current, chain.state.mask)
        assert np.array_equal(trajectory.to_dict()["score"], chain.trajectory.to_dict()["score"])
    # one pass serves all chains that are still on their way
    assert len(passes) == max(each) < sum(each)
    assert max(passes) > 1
    best = max(alone, key=lambda chain: chain.posterior)
    expected = best.state.mask if best.posterior > walker.posterior + 0.01 else walker.state.mask
    assert np.array_equal(walker.state.mask, expected)
    assert not np.array_equal(subset, expected) or walker.posterior >= best.posterior - 0.01


def test_chains_mend_climbs_among_columns_that_nearly_repeat_each_other(monkeypatch):
    found = {"one": 0, "several": 0}
    # where all columns are at hand, pairs of moves mend most of it
    monkeypatch.setattr(_gram, "_WHOLE", np.inf)
    monkeypatch.setattr(_ridge_subset, "_NEAR", -np.inf)
    # and so do units that are found together
    monkeypatch.setattr(_gram, "_MOST_ACROSS", 0)
    for seed in range(4):
        X, y, truth = problem(seed, effects=25, size=0.35)
        several = REVS(random_state=0).fit(X, y)
        assert several.path_["chain"].max() >= len(LINEAR_STARTS)
        with monkeypatch.context() as few:
            few.setattr(_chains, "_TANGLED", 2.0)
            one = REVS(random_state=0).fit(X, y)
        assert one.path_["chain"].max() == 0
        assert several.n_stages_ == len(several.path_["action"]) > one.n_stages_
        found["one"] += np.count_nonzero(one.support_ != truth)
        found["several"] += np.count_nonzero(several.support_ != truth)
    assert found["several"] < 0.7 * found["one"]


def test_no_chains_where_columns_stand_apart():
    X, y, truth = problem(1, share=0.5)
    fit = REVS(random_state=0).fit(X, y)
    assert fit.path_["chain"].max() == 0
    assert np.array_equal(fit.support_, truth)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_tangle_is_the_share_that_the_subset_explains(family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5))
    X[:, 4] = np.sqrt(0.6) * X[:, 0] + np.sqrt(0.3) * X[:, 1] + np.sqrt(0.1) * X[:, 4]
    y = (rng.random(4000) < 0.5).astype(float)
    state = make_walker(X, y, family, []).state
    everything, others = np.ones(5, dtype=bool), np.arange(5) != 4
    assert state.tangle(everything) == pytest.approx(0.0, abs=0.01)
    state.reset(np.array([True, True, False, False, False]))
    assert state.tangle(everything) == pytest.approx(0.9, abs=0.04)
    assert state.tangle(others) == pytest.approx(0.0, abs=0.01)
    state.reset(np.array([True, True, False, False, True]))
    assert state.tangle(everything) == pytest.approx(0.9, abs=0.04)


def test_a_chain_that_fails_does_not_hang_the_others():
    rng = np.random.default_rng(0)
    rows, where = make_rows(rng.standard_normal((40, 3)), rng.standard_normal(40), [])
    for block in where:
        rows.append(block)
    totals = np.zeros(3)

    def work(k, fails):
        for _ in range(3 + k):
            if fails:
                raise RuntimeError("broken chain")
            rows.pour(lambda i, size: totals.__setitem__(k, totals[k] + size), len)

    with pytest.raises(RuntimeError, match="broken chain"):
        rows.side_by_side([partial(work, k, k == 1) for k in range(3)])
    assert list(totals) == [120.0, 0.0, 200.0]
    assert rows._meeting is None
    with pytest.raises(ZeroDivisionError):
        rows.side_by_side([partial(rows.pour, lambda *_: 1 / 0, len)] * 2)
    assert not [t for t in threading.enumerate() if t.name.startswith("rlselect-chain")]


def test_a_search_that_dies_amid_its_chains_goes_on_to_the_same_answer(tmp_path, monkeypatch):
    X, y, _ = problem(0)
    whole = REVS(random_state=0).fit(X, y)
    path, climb = tmp_path / "state", _chains._climb

    def die(*args):
        climb(*args)
        raise RuntimeError("the power is gone")

    monkeypatch.setattr(_chains, "_climb", die)
    # saved at every step, those of the chains as well
    monkeypatch.setattr("rlselect.subset.revs._checkpoint.Checkpoint.due", lambda self: True)
    with pytest.raises(RuntimeError, match="power"):
        REVS(random_state=0, checkpoint=path).fit(X, y)
    assert path.exists()
    monkeypatch.undo()
    again = REVS(random_state=0, checkpoint=path).fit(X, y)
    assert not path.exists()
    assert np.array_equal(again.coef_, whole.coef_)
    assert np.array_equal(again.inclusion_, whole.inclusion_)
    assert np.array_equal(again.path_["action"], whole.path_["action"])
