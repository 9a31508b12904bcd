"""Whether there is anything at all: greedy fits against a naive loop, levels under noise, and whole fits."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rlselect import ActorCriticPredictor
from rlselect.subset.acp import _chance, _stages
from rlselect.subset.acp._chance import beats_permutations, beats_sets, shapes


def naive_evidence(X, Y):
    """Spike and slab, coordinate by coordinate, with the residuals of all rows."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    (n, p), q = X.shape, Y.shape[1]
    X, Y = X / X.std(axis=0), Y * math.sqrt(n * q / np.square(Y).sum())
    slab, share, noise = 3.0 / n, min(0.4 * n / p, 0.5), 1.0
    mean, inside, residual = np.zeros((p, q)), np.full(p, share), Y.copy()
    order = np.argsort(-np.square(X.T @ Y).sum(axis=1))[:64]
    for _ in range(4):
        variance = 1.0 / (n / noise + 1.0 / slab)
        for j in order:
            without = residual + np.outer(X[:, j], inside[j] * mean[j])
            mean[j] = X[:, j] @ without * variance / noise
            odds = share / (1 - share) * (variance / slab) ** (q / 2)
            odds *= math.exp(np.square(mean[j]).sum() / (2 * variance))
            inside[j] = odds / (1 + odds)
            residual = without - np.outer(X[:, j], inside[j] * mean[j])
        second = inside * (np.square(mean).sum(axis=1) + q * variance)
        unsure = second - np.square(inside[:, None] * mean).sum(axis=1)
        noise = max((np.square(residual).sum() + n * unsure[order].sum()) / (n * q), 0.05)
    bound = -0.5 * n * q * math.log(noise)
    for j in order:
        a = inside[j]
        bound -= a * math.log(a / share) + (1 - a) * math.log((1 - a) / (1 - share))
        bound += 0.5 * (a * q * (1 + math.log(variance / slab)) - second[j] / slab)
    return bound


@pytest.mark.parametrize(("gram", "p", "q"), [(True, 9, 2), (False, 9, 1), (True, 120, 1)])
def test_many_responses_are_judged_at_once_as_a_loop_judges_them(gram, p, q, monkeypatch):
    if not gram:
        monkeypatch.setattr(_chance, "_GRAM", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)) / math.sqrt(p))
    responses = rng.standard_normal((3, 40, q)) + 0.4 * X[:, :3].sum(axis=1)[:, None]
    responses -= responses.mean(axis=1, keepdims=True)
    got = _chance._Columns(X).statistics(responses)[:, 0]
    np.testing.assert_allclose(got, [naive_evidence(X, Y) for Y in responses], rtol=1e-7)


def test_a_crowd_is_judged_column_by_column():
    rng = np.random.default_rng(7)
    X = np.concatenate([rng.standard_normal((50, 12)), np.ones((50, 1))], axis=1)
    y = rng.standard_normal(50) + X[:, :6].sum(axis=1)
    y -= y.mean()
    odds = 0.0
    for j in range(12):
        z2 = 50 * np.corrcoef(X[:, j], y)[0, 1] ** 2
        # a normal effect with a variance of four squared standard errors against none
        odds += math.log1p(4 / 12 * (math.exp(0.4 * z2) / math.sqrt(5) - 1))
    got = _chance._Columns(X).statistics(np.stack([y, np.zeros(50)])[:, :, None])[:, 1]
    assert got[0] == pytest.approx(odds)
    assert got[1] < 0


def test_many_weak_effects_are_seen_together():
    hidden, seen = 0, 0
    for seed in range(12, 40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 60))
        Y = (0.25 * X[:, :8].sum(axis=1) + rng.standard_normal(100))[:, None]
        best = np.square(np.corrcoef(X.T, Y[:, 0])[-1, :-1]).max()
        # where the largest of 60 is no surprise by itself
        if 60 * math.erfc(math.sqrt(50 * best)) > 0.05:
            hidden, seen = hidden + 1, seen + beats_permutations(X, Y, 0.02, rng)
    assert hidden >= 8
    assert seen >= hidden / 3


@pytest.mark.parametrize("n", [30, 20_000])
def test_copies_and_a_perfect_fit_do_no_harm(n):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 1))
    X = np.concatenate([x, x, np.zeros((n, 1))], axis=1)
    y = x - x.mean()
    got = _chance._Columns(X).statistics(np.stack([y, np.zeros((n, 1))]))
    assert np.isfinite(got).all()
    assert np.all(got[0] > 8)
    assert np.all(got[1] < 0)
    assert not beats_permutations(np.ones((n, 2)), y, 0.1, rng)


@pytest.mark.parametrize("dictionary", [np.asarray, shapes])
def test_noise_is_taken_for_more_as_often_as_the_level_says(dictionary):
    hits, count = 0, 60
    for seed in range(count):
        rng = np.random.default_rng([3, seed])
        X, Y = rng.standard_t(3, (40, 5)), rng.standard_normal((40, 1))
        hits += beats_permutations(dictionary(X), Y, 0.1, rng)
    # six are expected; more than 13 come once in four hundred times
    assert 1 <= hits <= 13


@pytest.mark.parametrize(
    ("truth", "straight"),
    [
        (lambda X: X[:, 0], True),
        (lambda X: np.cos(3 * X[:, 0]), False),
        (lambda X: np.abs(X[:, 0]), False),
        (lambda X: X[:, 0] * X[:, 1], False),
    ],
)
def test_shapes_see_what_lines_do_not(truth, straight):
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (150, 10))
    Y = (truth(X) + 0.5 * rng.standard_normal(150))[:, None]
    assert beats_permutations(X, Y, 0.01, rng) == straight
    assert beats_permutations(shapes(X), Y, 0.01, rng)


def test_shapes_of_too_many_columns_are_not_built():
    assert shapes(np.zeros((2000, 150))) is None


def test_sets_are_counted():
    gain = np.random.default_rng(0).standard_normal(100)
    gain = (gain - gain.mean()) / gain.std(ddof=1)
    # t = 4 with 99 degrees has a tail of 6.1e-5
    assert beats_sets(0.4 + gain, 10, 1, 0.01 * 0.13)
    assert not beats_sets(0.4 + gain, 10, 1, 0.01 * 0.11)
    assert not beats_sets(0.4 + gain, 100, 3, 0.05)
    assert not beats_sets(gain, 10, 1, 0.05)
    assert not beats_sets(gain[:2], 10, 1, 0.05)


def test_weak_relations_are_kept_where_false_alarms_may_be():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((80, 30))
    y = 0.28 * X[:, 0] + rng.standard_normal(80)
    found = [
        ActorCriticPredictor(predictor="linear", false_alarm=level, random_state=0).fit(X, y).support_
        for level in (0.001, 1.0)
    ]
    assert not found[0].any()
    assert found[1][0]


@pytest.mark.parametrize(
    ("options", "share", "asked"),
    [({}, 1 / 2, 3), ({"predictor": "linear"}, 0.9, 2), ({"screening": 5}, 0.9, 2)],
)
def test_false_alarms_of_all_questions_together_are_their_share(options, share, asked, monkeypatch):
    """Straight lines have what other shapes do not ask for."""
    levels, sets = [], []
    monkeypatch.setattr(_stages, "beats_sets", lambda *given: bool(sets.append(given[-1])))
    # notes what it is asked with, and never says yes
    monkeypatch.setattr(_stages, "beats_permutations", lambda X, Y, level, rng: bool(levels.append(level)))
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 8))
    y = X[:, 0] + 0.5 * rng.standard_normal(40)
    found = ActorCriticPredictor(**options, false_alarm=0.03, random_state=0).fit(X, y)
    assert levels[0] == pytest.approx(share * 0.03)
    # each set is asked about twice, by the squares of errors and by their lengths
    assert levels[0] + (asked - 1) * 2 * sets[0] == pytest.approx(0.03)
    assert not found.support_.any()


@pytest.mark.parametrize("squared", [True, False])
def test_errors_count_by_their_length_too_where_a_few_are_far_longer_than_others(squared):
    """A few rows hold most of the squared errors of a product of three; a log loss has no length."""
    losses = np.random.default_rng(1).standard_normal(400) ** 6
    mode = np.arange(100) < 3
    predictor = SimpleNamespace(
        row_losses=lambda mask: 0.1 * losses if mask.any() else losses,
        log_loss=not squared,
        slow=False,
        additive=True,
    )
    stages = SimpleNamespace(
        false_alarm=0.02,
        levels=(0.018, 0.002),
        inputs=SimpleNamespace(allowed=np.arange(100), X=np.empty((400, 100))),
        moves_with_columns=lambda: False,
    )
    actor = SimpleNamespace(columns=lambda mode: mode, predictor=predictor)
    assert _stages.Stages.is_anything(stages, actor, mode) == squared
