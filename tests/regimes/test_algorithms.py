"""Algorithms 25, 26 and 28 of the dissertation, number by number, against loops that follow its text."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData
from rlselect.machines import choose_size
from rlselect.regimes import StageRFE
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._selection import _held_out_path
from rlselect.regimes._stage_machine import StageMachine
from rlselect.simulate import make_regime_trial

N, WIDTH = 30, 2.0


@pytest.fixture(scope="module")
def small():
    simulated = make_regime_trial("I", N, 5, random_state=2)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    return TrialData.from_wide(simulated.columns, stages)


def encoded(stage):
    """Standardised history columns and the codes -1 and 1 of the action."""
    H = stage.history
    X = (H - H.mean(axis=0)) / H.std(axis=0)
    for j, column in enumerate(stage.columns):
        if column.kind == "action":
            X[:, j] = 2.0 * H[:, j] - 1.0
    return X, 2.0 * stage.action - 1.0


def gaussian(X, Z):
    return np.exp(-np.square(X[:, None] - Z).sum(axis=-1) / WIDTH**2)


def ridge(X, y, lam):
    """``lam |f|^2 + mean squared error`` with a free intercept: coefficients, intercept, norm, error."""
    n, K = len(y), gaussian(X, X)
    system = np.block([[K + lam * n * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    a, b = solution[:-1], solution[-1]
    return a, b, a @ K @ a, np.mean(np.square(y - K @ a - b))


def largest(Z, y, lam):
    """Largest fitted value of each row over the actions, which are the last column."""
    a, b, _, _ = ridge(Z, y, lam)
    q = []
    for code in (-1.0, 1.0):
        turned = Z.copy()
        turned[:, -1] = code
        q.append(gaussian(turned, Z) @ a + b)
    return np.max(q, axis=0)


def paper_lambda(y):
    """Cherkassky and Ma: ``n lambda = 1 / C`` with C three standard deviations of the centred response."""
    return 1.0 / (len(y) * 3.0 * np.std(y))


def test_algorithm_25(small):
    rfe = StageRFE("rfe", bandwidths=(WIDTH,), safeguard=0.0)
    learner = QLearning(model="rbf", selection=rfe, random_state=0).fit(small)
    names = learner.history_names_in_[1].tolist()
    X, action = encoded(small.stages[1])
    y = small.stages[1].reward
    left, path = list(range(X.shape[1])), learner.path_[1]

    def risk(columns):
        _, _, norm, error = ridge(np.column_stack([X[:, columns], action]), y, paper_lambda(y))
        return paper_lambda(y) * norm + error

    objective = [risk(left)]
    gone = []
    while left:
        risks = [risk([j for j in left if j != i]) for i in left]
        gone.append(left[int(np.argmin(risks))])
        objective.append(min(risks))
        left.remove(gone[-1])
    assert [names[j] for j in gone] == [column for step in path["eliminated"] for column in step]
    np.testing.assert_allclose(path["objective"], objective, rtol=1e-6)
    # what stays left last, and the stage before has the largest Q-value of the refitted machine to explain
    kept = gone[::-1][: len(learner.selected_[1])]
    assert sorted(names[j] for j in kept) == sorted(learner.selected_[1])
    Z = np.column_stack([X[:, sorted(kept)], action])
    first = small.stages[0].reward + largest(Z, y, paper_lambda(y))
    np.testing.assert_allclose(learner._machines[0].y, first, atol=1e-6)


def test_algorithm_26(small):
    stage = small.stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    rows = encoder.encode(stage.history, stage.action)
    rfe = StageRFE("rfe-test", bandwidths=(WIDTH,))
    machine = StageMachine(encoder, rows, stage.reward, np.ones(N), "rbf", paper=rfe)
    path = _held_out_path(machine, 0.5, np.random.default_rng(5))
    X, action = encoded(stage)
    order = np.random.default_rng(5).permutation(N)
    train, test = np.sort(order[: N // 2]), np.sort(order[N // 2 :])
    y, left, gone = stage.reward, list(range(X.shape[1])), []
    lam = paper_lambda(y[train])

    def risk(columns):
        Z = np.column_stack([X[:, columns], action])
        a, b, norm, _ = ridge(Z[train], y[train], lam)
        return lam * norm + np.mean(np.square(y[test] - gaussian(Z[test], Z[train]) @ a - b))

    objective = [risk(left)]
    while left:
        risks = [risk([j for j in left if j != i]) for i in left]
        gone.append(left[int(np.argmin(risks))])
        objective.append(min(risks))
        left.remove(gone[-1])
    assert path.order == gone
    np.testing.assert_allclose(path.objective, objective, rtol=1e-6)
    size = choose_size("held-out", path, "squared")[0]
    assert size == X.shape[1] - int(np.argmin(objective))


def test_algorithm_28(small):
    rfe = StageRFE("rfe-vpred", bandwidths=(WIDTH,), safeguard=0.0)
    learner = QLearning(model="rbf", selection=rfe, random_state=0).fit(small)
    X, action = zip(*(encoded(stage) for stage in small.stages), strict=True)

    def value(sets, lams):
        """Fitted value of stage 1, and the responses of both stages."""
        future, responses = np.zeros(N), []
        for t in (1, 0):
            y = small.stages[t].reward + future
            responses.append(y)
            Z = np.column_stack([X[t][:, sets[t]], action[t]])
            future = largest(Z, y, lams[t] if lams else paper_lambda(y))
        return future.mean(), responses[::-1]

    sets = [list(range(X[t].shape[1])) for t in (0, 1)]
    start, responses = value(sets, None)
    lams = [paper_lambda(y) for y in responses]
    order, track = [], [start]
    while any(len(mine) > 1 for mine in sets):
        found = []
        for t in (0, 1):
            for j in sets[t] if len(sets[t]) > 1 else []:
                fewer = [[k for k in mine if (s, k) != (t, j)] for s, mine in enumerate(sets)]
                found.append((value(fewer, lams)[0], t, j))
        best = max(found, key=lambda one: one[0])
        sets[best[1]].remove(best[2])
        order.append(best[1:])
        track.append(best[0])
    stop = int(np.argmax(track[1:])) + 1
    for t in (0, 1):
        names = learner.history_names_in_[t]
        mine = [names[j] for s, j in order if s == t]
        path = learner.path_[t]
        assert [column for step in path["eliminated"] for column in step][: len(mine)] == mine
        np.testing.assert_allclose(
            path["objective"], [start, *(track[k + 1] for k, (s, _) in enumerate(order) if s == t)], rtol=1e-5
        )
        removed = {names[j] for s, j in order[:stop] if s == t}
        assert set(learner.selected_[t]) == set(names) - removed


def test_elimination_by_the_value_of_each_stage(small):
    """Appendix C.1: as Algorithm 28, but each stage by its own fitted value, the last one first."""
    rfe = StageRFE("rfe-vstage", bandwidths=(WIDTH,), safeguard=0.0)
    learner = QLearning(model="rbf", selection=rfe, random_state=0).fit(small)
    future = np.zeros(N)
    for t in (1, 0):
        X, action = encoded(small.stages[t])
        names, y = learner.history_names_in_[t], small.stages[t].reward + future
        left, gone = list(range(X.shape[1])), []

        def values(columns, X=X, action=action, y=y):
            return largest(np.column_stack([X[:, columns], action]), y, paper_lambda(y))

        track = [values(left).mean()]
        while len(left) > 1:
            found = [values([j for j in left if j != i]).mean() for i in left]
            gone.append(left[int(np.argmax(found))])
            track.append(max(found))
            left.remove(gone[-1])
        path = learner.path_[t]
        assert [column for step in path["eliminated"] for column in step][: len(gone)] == [
            names[j] for j in gone
        ]
        np.testing.assert_allclose(path["objective"], track, rtol=1e-6)
        stop = int(np.argmax(track[1:])) + 1
        kept = [j for j in range(X.shape[1]) if j not in gone[:stop]]
        assert learner.selected_[t] == [names[j] for j in kept]
        assert learner.stop_reason_[t].startswith("largest fitted value of the stage")
        future = values(kept)
