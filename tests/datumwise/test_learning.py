"""What makes learning steady: several numbers of bins, margins, averages, states that are played once."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PaperIteration, PolicyIteration, _folds, _improve, _margins, _policy_iteration
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._states import distinct


def make_problem(n_rows, n_features, price, n_bins=5, effect=1.0, budget=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (effect * X[:, :4].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(np.intp)
    rules = PurchaseRules(
        names=list(range(n_features)),
        groups=[np.array([j]) for j in range(n_features)],
        prices=np.full(n_features, price),
        losses=1 - np.eye(2),
        budget=budget,
    )
    encoder = make_encoder("bins", n_bins).fit(X, np.ones(n_rows))
    closed = np.zeros(X.shape, dtype=bool)
    return PurchaseProblem(rules, encoder, encoder.encode(X), closed, y, np.ones(n_rows))


def test_weights_of_coarse_bins_are_spread_over_fine_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), rng.normal(size=200)])
    X[4, 2] = np.nan
    encoder = make_encoder("bins", (3, 4)).fit(X, np.ones(200))
    assert [len(own) for own in encoder.edges_] == [5, 1, 5]
    codes, shown = encoder.encode(X), rng.random(X.shape) < 0.6
    for number, columns in zip((3, 4), encoder.regressors_, strict=True):
        alone = make_encoder("bins", number).fit(X, np.ones(200))
        assert columns.encoder.width_ == alone.width_
        regressors = columns.design(codes, shown)
        assert (regressors == alone.design(alone.encode(X), shown)).all()
        theta = rng.normal(size=(2, alone.width_, 3))
        spread = columns.spread(theta)
        for stage in (0, 1):
            assert encoder.design(codes, shown) @ spread[stage] == pytest.approx(regressors @ theta[stage])


def test_features_with_few_values_need_one_regression():
    X = np.random.default_rng(1).integers(0, 3, size=(50, 4)).astype(float)
    encoder = make_encoder("bins", (3, 5, 8)).fit(X, np.ones(50))
    assert [columns.encoder for columns in encoder.regressors_] == [encoder]


def test_several_numbers_of_bins_are_averaged():
    settings = PolicyIteration(n_folds=1, states_per_row=4)
    theta = {}
    for n_bins in (3, 4, (3, 4)):
        problem = make_problem(120, 3, 0.01, n_bins)
        states = _improve.draw_states(problem, settings, None, np.random.default_rng(5))
        folds = np.zeros(120, dtype=np.intp)
        policy = _improve.regress(problem, settings, states, None, folds)[-1]
        theta[n_bins] = policy.probabilities(problem.codes, np.ones((120, 3), bool))
    mean = (theta[3] + theta[4]) / 2
    inside = (theta[3] > 0.01) & (theta[4] > 0.01) & (theta[3] < 0.99) & (theta[4] < 0.99)
    assert inside.mean() > 0.3
    assert theta[3, 4][inside] == pytest.approx(mean[inside], abs=1e-6)


def test_n_bins_matters():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 5))
    y = np.abs(X[:, 0]) < 0.4
    search = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)
    scores = {}
    for n_bins in (2, (3, 5, 8)):
        model = DatumwiseClassifier(n_bins=n_bins, search=search, random_state=0).fit(X, y)
        scores[n_bins] = model.score(X, y)
    assert scores[3, 5, 8] > 0.8 > scores[2]


@pytest.mark.parametrize("n_bins", [(), (3, 1), "five", 2.5])
def test_wrong_numbers_of_bins(n_bins):
    with pytest.raises(ValueError, match=r"n_bins=.* must be an integer of at least 2 or a list"):
        DatumwiseClassifier(n_bins=n_bins).fit(np.eye(4), [0, 1, 0, 1])


def test_each_state_is_kept_once():
    rng = np.random.default_rng(3)
    rules = make_problem(10, 5, 0.1).rules
    row = np.repeat(np.arange(300), 8)
    bought = rng.random((len(row), 5)) < 0.3
    states = distinct(rules, row, bought, bought @ rules.prices)
    drawn = {}
    for r, held in zip(row, map(tuple, bought), strict=True):
        drawn[r, held] = drawn.get((r, held), 0) + 1
    kept = dict(zip(zip(states.row, map(tuple, states.bought), strict=True), states.count, strict=True))
    assert kept == drawn
    assert len(kept) == len(states.row) < len(row)
    assert (np.diff(states.row) >= 0).all()
    assert states.spent == pytest.approx(states.bought @ rules.prices)


@pytest.mark.parametrize("most", [1, 40])
def test_fewer_states_than_folds(most):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 4))
    search = PolicyIteration(max_states=most, n_iter=2)
    model = DatumwiseClassifier(search=search, random_state=0).fit(X, X[:, 0] > 0)
    assert model.predict(X).shape == (60,)


def test_ranks_of_units_do_not_know_the_fold_left_out():
    rng = np.random.default_rng(4)
    problem = make_problem(120, 5, 0.1)
    folds = np.arange(120) % 3
    ranks = _margins.unit_ranks(problem, folds)
    assert sorted(ranks[0]) == [0, 1, 2, 3, 4]
    changed = problem.take(np.arange(120), problem.weights)
    changed.labels = np.where(folds == 1, rng.integers(0, 2, 120), problem.labels)
    again = _margins.unit_ranks(changed, folds)
    assert (again[1] == ranks[1]).all()
    assert (again[[0, 2, 3]] != ranks[[0, 2, 3]]).any()
    assert _margins.unit_ranks(problem, 0 * folds).shape == (1, 5)


def test_what_is_taken_off_goes_by_rank():
    ranks = np.array([[0, 2, 1], [1, 0, 2]])
    off = _margins.taken_off(10.0, (0.0, 0.02), ranks, 2)
    assert off[0][0] == pytest.approx([0, 3, 0])
    assert off[1][1] == pytest.approx([0.2, 0.2, 3.2])


def test_many_weak_features_do_not_end_with_one_question():
    rng = np.random.default_rng(7001)
    X = rng.normal(size=(2400, 40))
    y = X[:, :8].sum(axis=1) + rng.normal(size=2400) > 0
    search = PolicyIteration(n_iter=6, states_per_row=10)
    model = DatumwiseClassifier(feature_cost=0.02, search=search, random_state=0).fit(X[:400], y[:400])
    assert model.unit_inclusion_.sum() > 1.5
    assert model.score(X[400:], y[400:]) > 0.66  # one feature alone is right in 61 % of the cases


def test_margins_make_purchases_rarer():
    problem = make_problem(150, 8, 0.01)
    settings = PolicyIteration(n_iter=2, n_restarts=1, n_folds=1, states_per_row=6)
    policy = _policy_iteration.iterate_policies(problem, settings, np.random.default_rng(0)).policy
    count = [
        policy.with_margins(margins).run(problem.codes, problem.closed).bought.sum(axis=1)
        for margins in ((0, 0), (0, 5), (5, 5))
    ]
    assert count[0].mean() > 1
    assert (count[1] == 1).all()
    assert (count[2] == 0).all()


def improved(problem, settings, folds):
    """Policies after one iteration from the one that buys nothing."""
    rng = np.random.default_rng(1)
    policies = _improve.first_policies(problem, settings, folds, rng, -1e30)
    last, _ = _folds.evaluate(problem, policies, folds)
    return _improve.improve(problem, settings, policies, last, folds, rng)


def test_margin_is_the_one_with_the_highest_value():
    problem, folds = make_problem(200, 80, 0.02), np.zeros(200, dtype=np.intp)
    found = improved(problem, PolicyIteration(n_folds=1, states_per_row=6), folds)
    chosen, bought, value = _margins.choose_margin(problem, found, folds, _margins.unit_ranks(problem, folds))
    again, returns = _folds.evaluate(problem, chosen, folds)
    assert (again == bought).all()
    assert returns.mean() == pytest.approx(value)
    plain, returns = _folds.evaluate(problem, found, folds)
    # without a margin something always seems worth buying
    assert value > returns.mean() + 0.1
    assert bought.sum(axis=1).mean() < plain.sum(axis=1).mean() - 5


@pytest.mark.parametrize("seed", range(2))
def test_many_features_do_not_stop_learning_from_buying(seed):
    problem = make_problem(250, 100, 0.02, effect=0.7)
    settings = PolicyIteration(n_iter=5, n_restarts=1, n_folds=1, states_per_row=5, screen=None)
    learned = _policy_iteration.iterate_policies(problem, settings, np.random.default_rng(seed))
    bought = learned.policy.run(problem.codes, problem.closed).bought
    prior = -min(np.mean(problem.labels), 1 - np.mean(problem.labels))
    assert learned.value > prior + 0.03
    assert bought[:, :4].any(axis=1).mean() > 0.9


def test_the_best_policies_are_averaged_unless_one_is_clearly_better():
    problem, folds = make_problem(200, 4, 0.01, effect=3.0), np.arange(200) % 2
    settings = PolicyIteration(n_folds=2, n_averaged=2, states_per_row=6)
    good = improved(problem, settings, folds)
    value = float(_folds.evaluate(problem, good, folds)[1].mean())
    # the mean with a policy that is almost the same, and with one that never buys
    near = [policy.with_margins((1e-4, 1e-4)) for policy in good]
    far = [policy.with_margins((9.0, 9.0)) for policy in good]
    for other, averaged in ((near, True), (far, False)):
        climb = _policy_iteration._Climb((-9.0, other), [(value, good), (value - 1e-6, other)], [])
        kept = _policy_iteration._average([climb], problem, folds, settings)
        expected = (good[-1].theta + other[-1].theta) / 2 if averaged else good[-1].theta
        assert kept.policy.theta == pytest.approx(expected, abs=1e-6)
    # nothing learned is better than what was there at first
    climb = _policy_iteration._Climb((1.0, far), [(value, good), (value, near)], [])
    assert _policy_iteration._average([climb], problem, folds, settings).policy is far[-1]


def test_n_averaged_matters():
    problem = make_problem(120, 5, 0.02, effect=0.5)
    theta = [
        _policy_iteration.iterate_policies(
            problem,
            PolicyIteration(n_averaged=n_averaged, n_iter=3, n_restarts=1, states_per_row=4),
            np.random.default_rng(0),
        ).policy.theta
        for n_averaged in (1, 8)
    ]
    assert np.abs(theta[0] - theta[1]).max() > 1e-3


@pytest.mark.parametrize("search", ["auto", PaperIteration(states_per_row=4)])
def test_linear_scores_do_not_depend_on_where_zero_is(search):
    rng = np.random.default_rng(0)
    X = rng.integers(-40, 41, size=(200, 3)) / 8.0  # sums with 2**20 are exact
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    accuracy = []
    for offset in (0.0, 2.0**20):
        model = DatumwiseClassifier(scoring="linear", search=search, feature_cost=0.01, random_state=0).fit(
            X + offset, y
        )
        accuracy.append(model.score(X + offset, y))
    assert accuracy[0] == accuracy[1] > 0.85
