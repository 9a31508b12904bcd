"""The algorithm of the paper."""

import naive
import numpy as np
import pytest
from problems import D, make_policy

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PaperIteration, _paper_iteration
from rlselect.datumwise._problem import PurchaseProblem


def test_paper_learns_a_linear_problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] > 0).astype(int)
    model = DatumwiseClassifier.paper(0.02, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.unit_inclusion_[2] == 1.0
    assert len(model.path_["value"]) == 10
    best = DatumwiseClassifier.paper(0.02, search=PaperIteration(keep="best"), random_state=0).fit(X, y)
    assert best.value_ == best.path_["value"].max()


def test_paper_takes_its_own_knobs_and_any_option():
    model = DatumwiseClassifier.paper(0.02, n_iter=3, keep="best", budget=2)
    assert model.search == PaperIteration(n_iter=3, keep="best")
    assert (model.scoring, model.feature_cost, model.budget, model.relation) == ("linear", 0.02, 2, "any")
    assert DatumwiseClassifier.paper(related=np.eye(3)).relation == "all"
    with pytest.raises(ValueError, match=r"search= was given beside n_iter; say all of it in search="):
        DatumwiseClassifier.paper(n_iter=3, search=PaperIteration())
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_itr'"):
        DatumwiseClassifier.paper(n_itr=3)


def make_problem(variant="plain", seed=0):
    """Rows under some rules, with three policies of random weights."""
    rng = np.random.default_rng(seed)
    rules, policy, codes, closed = make_policy(rng, variant, "linear", n_stages=1)
    others = []
    for _ in range(2):
        theta = policy.theta[:, :-1] + rng.normal(scale=0.3, size=policy.theta[:, :-1].shape)
        others.append(type(policy)(rules, policy.encoder, theta, policy.shares))
    labels = rng.integers(0, rules.n_classes, len(codes))
    weights = rng.uniform(0.5, 2.0, len(codes))
    problem = PurchaseProblem(rules, policy.encoder, codes, closed, labels, weights)
    return problem, [policy, *others]


@pytest.mark.parametrize("variant", ["plain", "budget", "restricted all", "relational any", "prerequisites"])
def test_random_states_hold_each_unit_with_one_half_as_far_as_the_rules_allow(variant):
    problem, _ = make_problem(variant)
    rules, closed = problem.rules, problem.closed
    bought, spent = _paper_iteration._random_states(problem, 60, np.random.default_rng(1))
    assert not (bought & closed[:, None, :]).any()
    if variant == "plain":
        share = bought.mean(axis=1)[~closed]
        assert abs(share.mean() - 0.5) < 3 * 0.5 / np.sqrt(60 * share.size)
        assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(60)
    for i in range(0, len(bought), 5):
        for state in bought[i, :8]:
            # there is an order in which all of it may be bought
            held, money, rest = np.zeros(D, dtype=bool), 0.0, set(np.flatnonzero(state))
            possible = search(rules, held, money, rest, closed[i])
            assert possible
    if rules.related is None:
        np.testing.assert_allclose(spent, bought @ rules.prices)


def search(rules, held, money, rest, closed):
    """Whether the rest can be bought in some order."""
    if not rest:
        return True
    for unit in naive.open_units(rules, held, money, closed):
        if unit in rest:
            after = held.copy()
            after[unit] = True
            cost = naive.price(rules, np.flatnonzero(held).tolist(), unit)
            if search(rules, after, money + cost, rest - {unit}, closed):
                return True
    return False


@pytest.mark.parametrize("variant", ["plain", "budget", "cost budget", "relational any", "prerequisites"])
@pytest.mark.parametrize("n_rollouts", [1, 3])
def test_the_mixture_is_drawn_for_each_row_and_rollout_and_played_to_the_end(variant, n_rollouts):
    problem, mixture = make_problem(variant)
    shares = np.array([0.49, 0.21, 0.3])  # of alpha = .7 after two iterations
    settings = PaperIteration(states_per_row=4, n_rollouts=n_rollouts)
    bought, spent = _paper_iteration._random_states(problem, 4, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    got = _paper_iteration._play_mixture(problem, settings, mixture, shares, bought, spent, rng)
    rng, rules = np.random.default_rng(3), problem.rules
    totals = np.zeros(bought.shape)
    for _ in range(n_rollouts):
        member = rng.choice(3, size=len(problem.labels), p=shares)
        for i in range(len(problem.labels)):
            for state in range(4):
                held, money = bought[i, state], spent[i, state]
                open_now = naive.open_units(rules, held, money, problem.closed[i])
                for u in range(rules.n_units):
                    if u not in open_now:
                        totals[i, state, u] = np.nan
                        continue
                    _, answer, paid = naive.play(
                        mixture[member[i]], problem.codes[i], problem.closed[i], held, money, first=u
                    )
                    totals[i, state, u] -= paid - money + rules.losses[answer, problem.labels[i]]
    np.testing.assert_allclose(got, totals / n_rollouts, atol=1e-5)
    assert np.isfinite(got).sum() > 50


def test_each_action_has_a_ridge_regression_of_its_own_with_a_free_constant():
    problem, _ = make_problem()
    rng = np.random.default_rng(4)
    bought, _ = _paper_iteration._random_states(problem, 5, rng)
    returns = np.where(rng.random(bought.shape) < 0.3, np.nan, rng.normal(size=bought.shape))
    policy = _paper_iteration._regress(problem, bought, returns, 0.5)
    rows = np.repeat(np.arange(len(bought)), 5)
    held = bought.reshape(-1, D)
    # of every bought feature the fact and the value, as in the paper; and a constant, which it does not have
    values = np.where(held, problem.codes[rows], 0.0)
    design = np.hstack([np.ones((len(rows), 1)), held, values])
    free = np.diag([0.0] + [0.5] * (2 * D))

    def ridge(states, target):
        own = design[states] * problem.weights[rows][states, None]
        return np.linalg.solve(own.T @ design[states] + free, own.T @ target)

    for u in range(D):
        able = ~np.isnan(returns.reshape(-1, D)[:, u])
        expected = ridge(able, returns.reshape(-1, D)[able, u])
        np.testing.assert_allclose(policy.theta[0, :-1, u], expected, atol=1e-5)
    everything = np.ones(len(rows), dtype=bool)
    n_classes = problem.rules.n_classes
    truth = np.eye(n_classes)[problem.labels[rows]]
    shares = np.column_stack([ridge(everything, truth[:, c]) for c in range(n_classes)])
    np.testing.assert_allclose(policy.shares[0], shares, atol=1e-8)
    np.testing.assert_allclose(policy.theta[0, :-1, D:], -shares @ problem.rules.losses.T, atol=1e-5)


def test_the_weights_of_a_mixture_follow_alpha(monkeypatch):
    """After the first iteration, the new policy has 1 - alpha of it and what was there before alpha."""
    seen = []
    original = _paper_iteration._play_mixture

    def watched(problem, settings, mixture, shares, *rest):
        seen.append(shares.copy())
        return original(problem, settings, mixture, shares, *rest)

    monkeypatch.setattr(_paper_iteration, "_play_mixture", watched)
    problem, _ = make_problem()
    settings = PaperIteration(n_iter=4, states_per_row=2, alpha=0.6)
    _paper_iteration.iterate_as_paper(problem, settings, np.random.default_rng(0))
    expected = [[1.0], [0.0, 1.0], [0.0, 0.6, 0.4], [0.0, 0.36, 0.24, 0.4]]
    for got, wanted in zip(seen, expected, strict=True):
        np.testing.assert_allclose(got, wanted)
