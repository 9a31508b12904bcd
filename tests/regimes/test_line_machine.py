"""Q-functions of lines against all subsets of slopes, and when they are preferred."""

from itertools import product

import numpy as np
import pytest

from rlselect import QLearning, TrialData, load, save
from rlselect.regimes import _line_machine
from rlselect.regimes._bends import Bends
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._held_out_folds import Split
from rlselect.regimes._line_machine import LineMachine, _losses, _moments, lines_again, prefer_lines
from rlselect.regimes._selection import StageSelection
from rlselect.regimes._spike_and_slab import _DEVIATIONS, _LOGITS, _Chains, _Grid, average_slopes
from rlselect.regimes._stage_machine import StageMachine


def arms(n=150, p=6, seed=0, curved=False):
    """Three arms; the last two have a slope on a column of their own, or a parabola."""
    rng = np.random.default_rng(seed)
    X, action = rng.normal(size=(n, p)), rng.integers(0, 3, n)
    shape = np.square(X) - 1.0 if curved else X
    gains = np.column_stack([np.zeros(n), shape[:, :2]])
    table = {f"x{j}": X[:, j] for j in range(p)}
    table["reward"] = X[:, 2] + gains[np.arange(n), action] + 0.5 * rng.normal(size=n)
    table["action"] = np.array(["a", "b", "c"])[action]
    stage = {"history": [f"x{j}" for j in range(p)], "action": "action", "reward": "reward"}
    return TrialData.from_wide(table, [stage | {"propensity": "1:1:1"}])


def machine_of(trial, kind="lines", weights=None):
    stage = trial.stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    weights = np.ones(len(X)) if weights is None else weights
    make = LineMachine if kind == "lines" else StageMachine
    return make(encoder, X, stage.reward, weights, kind)


def test_slopes_are_the_average_over_all_sets_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    n, d, share, slab, noise = 40, 4, 0.3, 0.2, 1.0
    D = rng.normal(size=(n, d))
    y = D @ [0.4, 0.0, 0.25, 0.0] + rng.normal(size=n)
    data, _, _ = _moments(D, y, np.ones(n), [np.zeros(n, dtype=bool)])
    weights, slopes, squares, there = [], [], [], []
    for on in product([False, True], repeat=d):
        mine = np.flatnonzero(on)
        A = data.gram[0][np.ix_(mine, mine)] / noise + np.eye(len(mine)) / slab
        mean = np.linalg.solve(A, data.cross[0][mine] / noise)
        evidence = 0.5 * data.cross[0][mine] @ mean / noise - 0.5 * np.linalg.slogdet(A * slab)[1]
        weights.append(evidence + len(mine) * np.log(share / (1.0 - share)))
        slopes.append(np.bincount(mine, weights=mean, minlength=d))
        spread = np.diag(np.linalg.inv(A))
        squares.append(np.bincount(mine, weights=np.square(mean) + spread, minlength=d))
        there.append(on)
    weights = np.exp(np.array(weights) - max(weights))
    weights /= weights.sum()
    # with what is learnt about blocks and noise held where the sets of slopes know it
    monkeypatch.setattr(_Chains, "_draw_blocks", lambda self: None)
    made = _Chains.__init__

    def known(self, *args):
        made(self, *args)
        self._share[:], self._slab[:], self.noise[:] = share, slab, noise

    monkeypatch.setattr(_Chains, "__init__", known)
    found = average_slopes(data, np.zeros(d, dtype=int))
    np.testing.assert_allclose(found.slopes[0], weights @ np.array(slopes), atol=0.02)
    np.testing.assert_allclose(found.squares[0], weights @ np.array(squares), atol=0.01)
    np.testing.assert_allclose(found.there[0], weights @ np.array(there), atol=0.03)


def test_shares_and_variances_of_a_block_are_drawn_by_their_probability():
    sizes, unit, chances = np.array([4, 9]), np.array([[2.0]]), (np.arange(4000) + 0.5) / 4000
    grid = _Grid(sizes, unit, 0)
    shape = (2, 1, len(chances))
    there, squares = (np.broadcast_to(np.reshape(given, (2, 1, 1)), shape) for given in ([1, 6], [0.3, 0.8]))
    shares, slabs = grid.draw(there, squares, np.broadcast_to(chances, shape), np.zeros(shape[1:]))
    for block in range(2):
        k, size, square = there[block, 0, 0], sizes[block], squares[block, 0, 0]
        found, count = np.unique(
            np.column_stack([shares[block, 0], slabs[block, 0]]), axis=0, return_counts=True
        )
        share, slab = found.T
        # a logit that is uniform has the density 1 / (share (1 - share)) where all shares are equally likely
        odds = share ** (k + 1) * (1.0 - share) ** (size - k + 1) * slab ** (-0.5 * k)
        odds *= np.exp(-0.5 * square / slab)
        np.testing.assert_allclose(count / count.sum(), odds / odds.sum(), atol=0.002)


@pytest.mark.parametrize(("count", "alike"), [((1, 3), True), ((0, 9), False)])
def test_blocks_are_alike_as_often_as_one_share_explains_them_better(count, alike):
    sizes, unit, many = np.array([9, 9]), np.array([[2.0]]), 1000
    there = np.broadcast_to(np.reshape(count, (2, 1, 1)), (2, 1, many))
    half, steps = np.full((2, 1, many), 0.5), ((np.arange(many) + 0.5) / many)[None]
    share = _Grid(sizes, unit, 2).draw(there, 0.2 * there, half, steps)[0][:, 0]
    logits, deviations = (part.ravel() for part in np.meshgrid(_LOGITS, _DEVIATIONS))
    p = 1.0 / (1.0 + np.exp(-logits))

    def evidence(k, size):
        slab = deviations**2 / np.maximum(p * size, 1.0) * unit[0, 0]
        odds = p ** (k + 1) * (1.0 - p) ** (size - k + 1) * slab ** (-0.5 * k) * np.exp(-0.1 * k / slab)
        return odds.sum() / (p * (1.0 - p)).sum()

    one, apart = evidence(sum(count), 18), evidence(count[0], 9) * evidence(count[1], 9)
    same = share[0] == share[1]
    assert (one > apart) == alike
    # drawn apart they are different ones here
    assert same.mean() == pytest.approx(one / (one + apart), abs=0.002)


def test_moments_are_those_of_the_rows_that_are_left():
    rng = np.random.default_rng(3)
    D, y, w = rng.normal(size=(30, 3)), rng.normal(size=30) + 5.0, rng.uniform(0.5, 2.0, 30)
    out = np.arange(30) < 7
    data, means, mean = _moments(D, y, w, [out, np.zeros(30, dtype=bool)])
    kept, v = ~out, (w / w.mean())[~out]
    centre = np.average(D[kept], axis=0, weights=v)
    assert mean[0] == pytest.approx(np.average(y[kept], weights=v))
    np.testing.assert_allclose(means[0], centre)
    Z = D[kept] - centre
    np.testing.assert_allclose(data.gram[0], Z.T @ (v[:, None] * Z), atol=1e-12)
    np.testing.assert_allclose(data.cross[0], Z.T @ (v * (y[kept] - mean[0])), atol=1e-12)
    assert data.rows[0] == pytest.approx(v.sum())


def test_what_has_no_slope_is_gone_and_refits_keep_to_the_rest():
    machine = machine_of(arms(seed=2)).fit(range(6))
    assert {0, 1, 2} <= set(machine.groups)
    assert not machine.slopes[[j for j in range(6) if j not in machine.groups]].any()
    again = machine.refit(np.arange(150), machine.y)
    assert again.groups == machine.groups
    np.testing.assert_allclose(again.slopes, machine.slopes, atol=0.06)
    stage = arms(seed=2).stages[0]
    fitted = machine.predict(machine.X)
    np.testing.assert_allclose(fitted, machine.q_values(stage.history)[np.arange(150), stage.action])


def test_losses_of_folds_are_those_of_machines_without_them():
    machine = machine_of(arms(seed=2))
    folds = np.arange(150) % 3
    losses = machine.held_out_losses(folds, range(6))
    alone = machine.on_rows(np.flatnonzero(folds)).fit(range(6))
    expected = np.square(machine.y - alone.predict(machine.X))[folds == 0]
    # other random numbers
    assert losses[folds == 0].mean() == pytest.approx(expected.mean(), rel=0.05)


def test_the_order_of_the_actions_does_not_matter():
    trial = arms(seed=3)
    stage = trial.stages[0]
    machine = machine_of(trial).fit(range(6))
    order = np.array([2, 0, 1])
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, order[stage.action])
    other = LineMachine(encoder, X, stage.reward, np.ones(150), "lines")
    q = other.fit(range(6)).q_values(stage.history)
    np.testing.assert_allclose(q[:, order], machine.q_values(stage.history), atol=1e-6)


def test_many_small_slopes_are_all_kept():
    rng = np.random.default_rng(5)
    X, y_noise = rng.normal(size=(100, 10)), rng.normal(size=100)
    action = rng.integers(0, 2, 100)
    table = {f"x{j}": X[:, j] for j in range(10)} | {"action": action}
    table["reward"] = 0.5 * X.sum(axis=1) * np.where(action, 1.0, 0.2) + y_noise
    stage = {"history": [f"x{j}" for j in range(10)], "action": "action", "reward": "reward"}
    machine = machine_of(TrialData.from_wide(table, [stage])).fit(range(10))
    assert machine.groups == list(range(10))


def weak(n=150, p=8, slope=0.2, seed=0):
    """Two arms; what the second adds to the first leans a little on each of the first six columns."""
    rng = np.random.default_rng(seed)
    X, action = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    slopes = slope * np.where(np.arange(p) % 2, -1.0, 1.0) * (np.arange(p) < 6)
    table = {f"x{j}": X[:, j] for j in range(p)} | {"action": action}
    table["reward"] = 1.5 * X[:, p - 1] + action * (X @ slopes) + rng.normal(size=n)
    stage = {"history": [f"x{j}" for j in range(p)], "action": "action", "reward": "reward"}
    return TrialData.from_wide(table, [stage | {"propensity": "1:1"}]), slopes


def loses(q, left):
    """What decisions by some Q-values lose to those by others, of whom they are expected."""
    return float(np.mean(q.max(axis=1) - q[np.arange(len(q)), left.argmax(axis=1)]))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_columns_leave_as_long_as_decisions_lose_next_to_nothing(seed, monkeypatch):
    trial, _ = weak(seed=seed)
    history = trial.stages[0].history
    machine = machine_of(trial).fit(range(8))
    with monkeypatch.context() as patch:
        patch.setattr(_line_machine, "_NEGLIGIBLE", -1.0)
        every = machine_of(trial).fit(range(8))
    assert every.deciding == list(range(8))
    q = every.q_values(history)
    # noise of variance 1, of which shares that nobody explains are little more
    slack = 0.01 * np.sqrt(1.0 / 150)
    assert loses(q, machine.q_values(history)) <= 1.3 * slack
    # of those that are rather not there, the one that makes the least difference could not leave as well
    doubtful = [g for g in machine.deciding if machine.changes[g] < 0.5]
    if doubtful:
        columns = [machine.encoder.groups[g] for g in doubtful]
        moved = [np.ptp(machine.X[:, c] @ machine.slopes[c], axis=1).mean() for c in columns]
        least = columns[int(np.argmin(moved))]
        less = machine.X[:, least] @ machine.slopes[least]
        assert loses(q, machine.q_values(history) - less) > 0.7 * slack


def test_many_weak_slopes_decide_together_though_none_is_clear(monkeypatch):
    """Which of two actions is better is told more often by all of them than by those that are clear."""
    right = {0.01: [], np.inf: []}
    for seed in range(12):
        trial, slopes = weak(seed=seed)
        fresh = np.random.default_rng(100 + seed).normal(size=(2000, 8))
        for slack, found in right.items():
            monkeypatch.setattr(_line_machine, "_NEGLIGIBLE", slack)
            machine = machine_of(trial).fit(range(8))
            assert set(machine.deciding) <= set(machine.groups)
            if slack == np.inf:
                assert machine.deciding == np.flatnonzero(machine.changes >= 0.5).tolist()
            gain = fresh @ slopes
            found.append(np.mean(gain * (machine.q_values(fresh).argmax(axis=1) == 1)))
    gained = np.array(right[0.01]) - right[np.inf]
    # of at most .2, what the best decisions add
    assert gained.mean() > 0.01
    assert gained.min() > -0.005


def test_what_does_not_decide_is_the_same_for_all_actions():
    machine = machine_of(arms(seed=2)).fit(range(6))
    idle = [g for g in machine.groups if g not in machine.deciding]
    # the third column acts in all arms alike
    assert 2 in idle
    assert {0, 1} <= set(machine.deciding)
    for some in (machine, machine.refit(np.arange(100), machine.y[:100])):
        assert np.ptp(some.slopes[idle], axis=1).max() == 0.0
        assert np.ptp(some.slopes[machine.deciding], axis=1).min() > 0.0
    assert machine.slopes[2] == pytest.approx(1.0, abs=0.1)


def test_columns_that_decide_those_that_may_and_those_that_do_not():
    """What the account says of a column is true of the regime that is predicted and valued."""
    trial, _ = weak(seed=4)
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["lines"]
    decide, faint, predict = learner.tailoring_[0], learner.faint_[0], learner.prognostic_[0]
    assert sorted([*decide, *faint, *predict]) == sorted(learner.selected_[0])
    assert faint
    assert predict
    table = {name: values.copy() for name, values in trial.history(1).items()}

    def advantage(changed):
        q = learner.q_values(table | {changed: table[changed] + 1.0})
        return (q[:, 1] - q[:, 0]) - (before[:, 1] - before[:, 0])

    before = learner.q_values(table)
    for name in predict:
        np.testing.assert_allclose(advantage(name), 0.0, atol=1e-9)
    for name in [*decide, *faint]:
        assert np.abs(advantage(name)).min() > 1e-6
    answer, sections = learner.summary().dict["answer"], learner.summary().dict["sections"]
    assert f"leans a little on {faint[0]}" in answer
    uses = {name: use for name, _, use in sections[0]["rows"]}
    assert {name for name, use in uses.items() if use == "the decision, perhaps a little"} == set(faint)
    assert "Short rules do not" in sections[0]["note"]


def test_bends_are_what_lines_leave_and_are_lines_in_the_tails():
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.exponential(size=300), rng.integers(0, 2, 300), rng.normal(size=300)])
    bends = Bends(X, [0, 1, 2])
    # two values can do nothing but rise or fall
    np.testing.assert_array_equal(bends.owners, [0, 0, 0, 2, 2, 2])
    B = bends(X, np.arange(3))
    for j in (0, 2):
        mine = np.column_stack([np.ones(300), X[:, j], B[:, bends.owners == j]])
        np.testing.assert_allclose((mine.T @ mine / 300)[2:], np.eye(5)[2:], atol=1e-8)
    beyond = bends(np.array([[20.0, 0.0, 5.0], [21.0, 0.0, 6.0], [22.0, 0.0, 7.0]]), np.arange(3))
    np.testing.assert_allclose(np.diff(beyond, n=2, axis=0), 0.0, atol=1e-7)
    # fewer rows and columns have the same bends
    np.testing.assert_array_equal(bends(X[:7], np.array([2])), B[:7, 3:])


def test_curved_main_effects_do_not_bend_a_linear_contrast():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 3))
    action = (rng.uniform(size=300) < 1.0 / (1.0 + np.exp(-1.5 * X[:, 0]))).astype(int)
    table = {f"x{j}": X[:, j] for j in range(3)} | {"action": action}
    table["reward"] = 2.0 * np.exp(X[:, 0]) + action * (0.5 - X[:, 0]) + 0.5 * rng.normal(size=300)
    stage = {"history": ["x0", "x1", "x2"], "action": "action", "reward": "reward"}
    machine = machine_of(TrialData.from_wide(table, [stage])).fit(range(3))
    contrast = np.diff(machine.slopes, axis=1)[:, 0]
    np.testing.assert_allclose(contrast, [-1.0, 0.0, 0.0], atol=0.25)
    assert np.diff(machine.levels) == pytest.approx(0.5, abs=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_by_the_order_of_rows_does_not_change_slopes(seed):
    """Indicators of two actions explain the same: which one comes first must not hang on rounding."""
    rng = np.random.default_rng(seed)
    table = {f"x{j}": column for j, column in enumerate(rng.normal(size=(4, 200)))}
    table["action"] = rng.integers(0, 2, 200)
    table["reward"] = table["x0"] + table["action"] * (0.3 + table["x1"]) + rng.normal(size=200)
    stage = {"history": [f"x{j}" for j in range(4)], "action": "action", "reward": "reward"}
    machine = machine_of(TrialData.from_wide(table, [stage])).fit(range(4))
    for other in range(3):
        rows = np.random.default_rng(other).permutation(200)
        moved = LineMachine(machine.encoder, machine.X[rows], machine.y[rows], machine.weights, "lines")
        np.testing.assert_allclose(moved.fit(range(4)).slopes, machine.slopes, atol=1e-9)
        np.testing.assert_allclose(moved.levels, machine.levels, atol=1e-9)


def preferred(trial, groups, kind="anova"):
    machine = machine_of(trial, kind).fit(groups)
    return machine, *prefer_lines(machine, StageSelection(list(groups), None, "before"))


def test_lines_that_say_no_more_than_means_have_no_column():
    """The rewards of others tell nothing; slopes learnt from them only add errors."""
    trial = arms(n=90)
    machine = machine_of(trial, "linear")
    machine.y = np.random.default_rng(5).normal(size=90) + np.arange(3)[trial.stages[0].action]
    machine.fit([0, 1])
    lines, chosen = prefer_lines(machine, StageSelection([0, 1], None, "before"))
    assert isinstance(lines, LineMachine)
    judged = chosen.judged
    assert judged.lines.mean() >= judged.means.mean()
    assert lines.groups == chosen.groups == []
    means = np.array([machine.y[trial.stages[0].action == a].mean() for a in range(3)])
    np.testing.assert_allclose(lines.predict(machine.X), means[trial.stages[0].action], atol=0.1)
    few = np.arange(60)
    again = lines_again(machine_of(trial, "linear"), judged)
    assert again.groups == []
    assert len(judged.of_rows(few).means) == 60


def test_lines_are_preferred_where_they_are_as_good():
    _, sparse, chosen = preferred(arms(seed=4), [0, 1, 2])
    assert isinstance(sparse, LineMachine)
    assert chosen.groups == sparse.groups
    assert {0, 1, 2} <= set(sparse.groups)
    assert chosen.reason == "before; linear slopes are as good on held-out folds"
    machine, kept, chosen = preferred(arms(seed=4, curved=True), [0, 1, 2])
    assert kept is machine
    assert chosen.reason == "before"


def test_what_an_elimination_lost_comes_back():
    _, sparse, chosen = preferred(arms(seed=4), [0, 2])
    assert isinstance(sparse, LineMachine)
    assert 1 in chosen.groups


def test_selected_columns_are_judged_by_what_each_fold_selects_without_itself():
    trial = arms(seed=4)
    machine = machine_of(trial, "anova").fit([0, 1, 2])
    assert isinstance(prefer_lines(machine, StageSelection([0, 1, 2], None, "before"))[0], LineMachine)
    folds = np.random.default_rng(0).permutation(150) % 3
    # every fold loses two of the three that all rows together have found, to columns of noise
    split = Split(np.empty((0, 150)), [[0, 3, 4, 1, 2, 5], [1, 4, 5, 0, 2, 3], [2, 5, 3, 0, 1, 4]], folds)
    sparse, chosen = prefer_lines(machine, StageSelection([0, 1, 2], None, "before", (split,)))
    naive = np.empty(150)
    for fold, groups in enumerate([[0, 3, 4], [1, 4, 5], [2, 3, 5]]):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = machine_of(trial, "anova")
        part.groups, part.lam, part.bandwidth = groups, machine.lam, machine.bandwidth
        fitted = part.refit(train, machine.y[train]).predict(machine.X[test])
        naive[test] = np.square(machine.y[test] - fitted)
    mine = _losses(machine, folds, {0: [0, 3, 4], 1: [1, 4, 5], 2: [2, 3, 5]})
    np.testing.assert_allclose(mine, naive, rtol=1e-9)
    assert machine.groups == [0, 1, 2]
    # all columns need no selection, and win
    assert isinstance(sparse, LineMachine)
    assert chosen.splits == (split,)
    assert set(sparse.groups) >= {0, 1, 2}


def test_a_response_without_spread_or_a_dose_is_left_alone():
    trial = arms()
    machine = machine_of(trial, "linear").fit([0])
    machine.y = np.full(150, 2.0)
    chosen = StageSelection([0], None, "before")
    assert prefer_lines(machine, chosen) == (machine, chosen)
    machine = machine_of(trial, "linear").fit([0])
    machine.encoder.codes = np.linspace(-1.0, 1.0, 5)[:, None]
    assert prefer_lines(machine, chosen) == (machine, chosen)


def test_the_default_takes_lines_from_a_linear_trial_and_a_file_keeps_them(tmp_path):
    trial = arms(seed=6)
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["lines"]
    assert {"x0", "x1"} <= set(learner.tailoring_[0]) <= set(learner.selected_[0])
    save(learner, tmp_path / "learner")
    history = trial.history(1)
    np.testing.assert_array_equal(load(tmp_path / "learner").q_values(history), learner.q_values(history))
    assert QLearning(model="linear", random_state=0).fit(trial).model_ == ["linear"]


def test_of_very_many_columns_the_strongest_are_averaged_over():
    rng = np.random.default_rng(7)
    D = rng.normal(size=(120, 200))
    y = D[:, 3] - D[:, 190] + 0.5 * rng.normal(size=120)
    data, _, _ = _moments(D, y, np.ones(120), [np.arange(120) < 40, np.zeros(120, dtype=bool)])
    found = average_slopes(data, np.arange(200) % 2)
    np.testing.assert_allclose(found.slopes[:, [3, 190]], [[1.0, -1.0]] * 2, atol=0.2)
    assert ((found.slopes != 0.0).sum(axis=1) == 150).all()
    assert (found.squares > 0.0).all()
