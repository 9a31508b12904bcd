"""Whether there is anything at all: greedy fits against a naive loop, levels under noise, and whole fits."""

import math

import numpy as np
import pytest

from rlselect import ActorCriticPredictor
from rlselect.subset.acp import _chance
from rlselect.subset.acp._chance import beats_permutations, beats_sets, shapes


def naive_gains(X, Y, steps):
    """Forward selection by a least-squares fit for every candidate."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    taken, out = [], []
    for _ in range(steps):
        risks = {}
        for j in set(range(X.shape[1])) - set(taken):
            design = X[:, [*taken, j]]
            risks[j] = np.square(Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]).sum()
        taken.append(min(risks, key=risks.get))
        out.append(math.log(np.square(Y).sum() / risks[taken[-1]]))
    return out


@pytest.mark.parametrize("gram", [True, False])
def test_many_responses_are_fitted_at_once_as_a_loop_fits_them(gram, monkeypatch):
    if not gram:
        monkeypatch.setattr(_chance, "_GRAM", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 9)) @ rng.standard_normal((9, 9))
    responses = rng.standard_normal((3, 40, 2))
    responses -= responses.mean(axis=1, keepdims=True)
    got = _chance._Forward(X, 5).gains(responses)
    np.testing.assert_allclose(got, [naive_gains(X, Y, 5) for Y in responses], rtol=1e-7)


def test_a_crowd_is_judged_column_by_column():
    rng = np.random.default_rng(7)
    X = np.concatenate([rng.standard_normal((50, 12)), np.ones((50, 1))], axis=1)
    y = rng.standard_normal(50) + X[:, :6].sum(axis=1)
    y -= y.mean()
    odds = 0.0
    for j in range(12):
        z2 = 50 * np.corrcoef(X[:, j], y)[0, 1] ** 2
        # a normal effect with a variance of four squared standard errors against none
        odds += math.log1p(4 / 13 * (math.exp(0.4 * z2) / math.sqrt(5) - 1))
    got = _chance._Forward(X, 3).crowd(np.stack([y, np.zeros(50)])[:, :, None])
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


def test_copies_and_a_perfect_fit_do_no_harm():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((30, 1))
    X = np.concatenate([x, x, np.zeros((30, 1))], axis=1)
    y = x - x.mean()
    got = _chance._Forward(X, 3).gains(np.stack([y, np.zeros((30, 1))]))
    assert np.isfinite(got).all()
    assert got[0, 0] > 20
    assert np.all(got[1] == 0)


@pytest.mark.parametrize("dictionary", [np.asarray, shapes])
def test_noise_is_taken_for_more_as_often_as_the_level_says(dictionary):
    hits, count = 0, 60
    for seed in range(count):
        rng = np.random.default_rng([3, seed])
        X, Y = rng.standard_t(3, (40, 8)), rng.standard_normal((40, 1))
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
