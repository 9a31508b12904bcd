import math
import pickle

import numpy as np
import pytest

from rlselect.learn import UCB, EpsilonGreedy, Policy, PowerDecay, Softmax, ThompsonSampling, as_policy

INF = np.inf
ALL = [EpsilonGreedy(), Softmax(), UCB(), ThompsonSampling()]


def frequencies(policy, values, draws=20_000, **kwargs):
    rng = np.random.default_rng(0)
    picks = [policy.choose(values, rng=rng, **kwargs) for _ in range(draws)]
    return np.bincount(picks, minlength=len(values)) / draws


def naive_epsilon_greedy(values, epsilon):
    allowed = [a for a, value in enumerate(values) if value > -INF]
    best = max(values)
    ties = [a for a in allowed if values[a] == best]
    return [
        (epsilon / len(allowed) if a in allowed else 0.0) + ((1 - epsilon) / len(ties) if a in ties else 0.0)
        for a in range(len(values))
    ]


@pytest.mark.parametrize("values", [[0.0, 1.0, -2.0], [3.0, 3.0, 1.0, -INF], [0.0] * 5, [-INF, -7.0]])
@pytest.mark.parametrize("t", [1, 50])
def test_epsilon_greedy_is_equation_5(values, t):
    got = EpsilonGreedy(PowerDecay(0.1)).probabilities(np.array(values), t=t)
    np.testing.assert_allclose(got, naive_epsilon_greedy(values, t**-0.1), rtol=1e-14)
    assert got.sum() == pytest.approx(1.0)


def test_unique_best_has_the_printed_probability():
    p, epsilon = 9, 0.3
    got = EpsilonGreedy(epsilon).probabilities(np.arange(p + 1.0))
    assert got[-1] == pytest.approx(epsilon / (p + 1) + 1 - epsilon)
    assert got[0] == pytest.approx(epsilon / (p + 1))


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_softmax_is_a_naive_loop(temperature):
    values = np.array([1.0, -0.5, -INF, 2.5, 2.5])
    weights = [math.exp(v / temperature) for v in values]
    policy = Softmax(temperature)
    np.testing.assert_allclose(policy.probabilities(values), np.array(weights) / sum(weights), rtol=1e-13)
    assert policy.log_normaliser(values) == pytest.approx(math.log(sum(weights)), rel=1e-13)


def test_softmax_default_uses_half_the_log_reward():
    np.testing.assert_allclose(Softmax().probabilities(2 * np.log([1.0, 3.0])), [0.25, 0.75])


@pytest.mark.parametrize(("draw", "expected"), [(0.0, 1), (np.nextafter(1.0, 0.0), 3), (1.0, 3)])
def test_softmax_never_lands_on_a_forbidden_action(draw, expected):
    class Edge:
        def random(self):
            return draw

    values = np.array([-INF, 0.0, -INF, 0.1, -INF])
    assert Softmax().choose(values, rng=Edge()) == expected


def test_softmax_temperature_may_be_a_schedule():
    values = np.array([0.0, 1.0])
    cooling = Softmax(lambda t: 1.0 / t)
    assert cooling.probabilities(values, t=1)[1] == pytest.approx(1 / (1 + math.exp(-1)))
    assert cooling.probabilities(values, t=10)[1] == pytest.approx(1 / (1 + math.exp(-10)))


@pytest.mark.parametrize(
    "policy", [EpsilonGreedy(0.4), EpsilonGreedy(0.0), EpsilonGreedy(1.0), Softmax(1.0), UCB(1.0)]
)
@pytest.mark.parametrize("values", [[0.2, 1.0, -INF, 1.0, -3.0], [-INF, -INF, 0.0, 0.0]])
def test_choices_follow_the_probabilities(policy, values):
    values = np.array(values)
    errors = np.full(len(values), 0.5)
    expected = policy.probabilities(values, errors=errors)
    # Five standard deviations of a frequency over 20,000 draws.
    np.testing.assert_allclose(
        frequencies(policy, values, errors=errors), expected, atol=5 * 0.5 / 20_000**0.5
    )


def test_ucb_with_errors_is_a_naive_loop():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values, errors = rng.standard_normal(7), rng.random(7)
        best = max(range(7), key=lambda a, v=values, e=errors: v[a] + 1.5 * e[a])
        assert UCB(1.5).choose(values, errors=errors, rng=rng) == best


def test_ucb_with_counts_is_a_naive_loop():
    rng = np.random.default_rng(2)
    for t in range(1, 50):
        values, counts = rng.standard_normal(7), rng.integers(1, 20, 7)
        bounds = [v + 2.0 * math.sqrt(math.log(1 + t) / n) for v, n in zip(values, counts, strict=True)]
        assert UCB().choose(values, counts=counts, t=t, rng=rng) == int(np.argmax(bounds))


@pytest.mark.parametrize("policy", [UCB(), ThompsonSampling()])
def test_untried_actions_come_first_but_not_forbidden_ones(policy):
    values = np.array([5.0, 0.0, 0.0, -INF])
    counts = np.array([10, 0, 0, 0])
    expected = [0.0, 0.5, 0.5, 0.0]
    np.testing.assert_allclose(frequencies(policy, values, 4000, counts=counts), expected, atol=0.05)
    errors = np.array([0.1, INF, INF, INF])
    np.testing.assert_allclose(frequencies(policy, values, 4000, errors=errors), expected, atol=0.05)


def test_thompson_matches_the_normal_comparison():
    values, errors = np.array([0.0, 0.5]), np.array([1.0, 0.5])
    spread = 2.0 * math.hypot(*errors)
    beats = 0.5 * (1 + math.erf(0.5 / spread / math.sqrt(2)))
    got = frequencies(ThompsonSampling(2.0), values, errors=errors)
    np.testing.assert_allclose(got, [1 - beats, beats], atol=5 * 0.5 / 20_000**0.5)


def test_thompson_counts_are_unit_noise():
    values, counts = np.array([0.0, 0.4]), np.array([4, 25])
    got = frequencies(ThompsonSampling(), values, counts=counts)
    beats = 0.5 * (1 + math.erf(0.4 / math.hypot(1 / 2, 1 / 5) / math.sqrt(2)))
    np.testing.assert_allclose(got[1], beats, atol=5 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("policy", [UCB(0.0), ThompsonSampling(0.0), EpsilonGreedy(0.0), Softmax(1e-9)])
def test_without_optimism_every_policy_is_greedy(policy):
    values = np.array([0.1, 0.3, 0.2])
    assert frequencies(policy, values, 200, errors=np.ones(3))[1] == 1.0


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize(
    "values",
    [
        [1e308, -1e308, 0.0],
        [1e308, 1e308, -INF],
        [INF, 0.0, -INF],
        [-1e308, -INF, -1e308],
        [0.0, 1e-320, -1e-320],
    ],
)
def test_extreme_values_are_safe(policy, values):
    values = np.array(values)
    rng = np.random.default_rng(0)
    for _ in range(50):
        action = policy.choose(values, errors=np.ones(3), rng=rng)
        assert values[action] > -INF
    if not isinstance(policy, ThompsonSampling):
        probabilities = policy.probabilities(values, errors=np.ones(3))
        assert np.all(np.isfinite(probabilities))
        assert probabilities.sum() == pytest.approx(1.0)
        assert np.all(probabilities[values == -INF] == 0)


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-INF, -INF], "no action is allowed: all 2 values are -inf"),
        ([0.0, np.nan], "values hold NaN"),
        ([], "non-empty 1-D"),
        ([[1.0]], "non-empty 1-D"),
    ],
)
def test_impossible_values_are_refused(policy, values, message):
    values = np.array(values)
    with pytest.raises(ValueError, match=message):
        policy.choose(values, errors=np.ones(values.shape), rng=np.random.default_rng(0))


@pytest.mark.parametrize("policy", [UCB(), ThompsonSampling()])
def test_optimists_say_what_they_need(policy):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"needs errors .* or counts"):
        policy.choose(np.zeros(3), rng=rng)
    with pytest.raises(ValueError, match="cannot be negative"):
        policy.choose(np.zeros(3), errors=np.array([0.1, -0.1, 0.1]), rng=rng)


def test_thompson_has_no_probabilities():
    with pytest.raises(NotImplementedError, match="no closed-form"):
        ThompsonSampling().probabilities(np.zeros(3), errors=np.ones(3))


@pytest.mark.parametrize(
    "build", [lambda: Softmax(0.0), lambda: Softmax(INF), lambda: UCB(-1.0), lambda: ThompsonSampling(np.nan)]
)
def test_settings_are_checked(build):
    with pytest.raises(ValueError, match="must be"):
        build()


def test_as_policy_names():
    assert as_policy("softmax") == Softmax(2.0)
    assert as_policy("epsilon-greedy") == EpsilonGreedy(PowerDecay(0.1))
    assert as_policy("ucb") == UCB(2.0)
    assert as_policy("thompson") == ThompsonSampling(1.0)
    own = UCB(0.5)
    assert as_policy(own) is own


@pytest.mark.parametrize(
    ("wrong", "hint"), [("greedy", "got 'greedy'"), (UCB, r"write UCB\(\)"), (3, "got 3")]
)
def test_as_policy_lists_what_is_allowed(wrong, hint):
    with pytest.raises(ValueError, match="'softmax', 'epsilon-greedy', 'ucb', 'thompson'") as caught:
        as_policy(wrong)
    caught.match(hint)


@pytest.mark.parametrize("policy", ALL)
def test_policies_are_values(policy):
    assert isinstance(policy, Policy)
    assert pickle.loads(pickle.dumps(policy)) == policy
    values, errors = np.random.default_rng(3).standard_normal((2, 50))
    traces = [
        [policy.choose(values, errors=np.abs(errors), t=t, rng=rng) for t in range(1, 30)]
        for rng in (np.random.default_rng(4), np.random.default_rng(4))
    ]
    assert traces[0] == traces[1]


@pytest.mark.parametrize("policy", [EpsilonGreedy(PowerDecay(0.7)), Softmax(0.1), UCB(), ThompsonSampling()])
def test_a_bandit_is_learnt(policy):
    means = np.array([0.0, 0.3, 1.0, 0.6, -1.0])
    rng = np.random.default_rng(5)
    totals, counts = np.zeros(5), np.zeros(5)
    picks = []
    for t in range(1, 1501):
        values = totals / np.maximum(counts, 1)
        action = policy.choose(values, counts=counts, t=t, rng=rng)
        totals[action] += means[action] + 0.5 * rng.standard_normal()
        counts[action] += 1
        picks.append(action)
    assert np.mean(np.array(picks[-500:]) == 2) > 0.85


def test_an_array_is_no_policy():
    with pytest.raises(ValueError, match=r"an object with a choose\(values, \.\.\.\) method"):
        as_policy(np.zeros(3))
