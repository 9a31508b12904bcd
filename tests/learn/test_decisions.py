"""Rules that turn probabilities into a choice: the best of all subsets by their own measure."""

from itertools import chain, combinations

import numpy as np
import pytest

from rlselect.learn import Cutoff, ExpectedF1, FalseDiscovery, MostProbable, as_rule, read_rule


def every_subset(m):
    return chain.from_iterable(combinations(range(m), k) for k in range(m + 1))


@pytest.mark.parametrize("seed", range(6))
def test_rules_are_best_among_all_subsets(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(9) ** rng.choice([0.3, 1.0, 3.0])
    share = rng.choice([0.05, 0.1, 0.3])
    few = [s for s in every_subset(9) if s and np.mean(1 - p[list(s)]) <= share]
    largest = max((len(s) for s in few), default=0)
    chosen = FalseDiscovery(share).choose(p)
    assert chosen.sum() == largest
    assert not largest or np.mean(1 - p[chosen]) <= share
    given = np.minimum(p / (1 - np.prod(1 - p)), 1.0)
    score = {s: 2 * given[list(s)].sum() / (len(s) + given.sum()) for s in every_subset(9) if s}
    assert tuple(np.flatnonzero(ExpectedF1().choose(p))) == max(score, key=score.get)
    # what is known about "nothing" counts, within the bounds that single units give
    for nothing in (0.0, 0.3, 0.9, 1.0):
        given = np.minimum(p / np.clip(1 - nothing, p.max(), p.sum()), 1.0)
        score = {s: 2 * given[list(s)].sum() / (len(s) + given.sum()) for s in every_subset(9) if s}
        assert tuple(np.flatnonzero(ExpectedF1(nothing).choose(p))) == max(score, key=score.get)
    top = MostProbable(4).choose(p)
    assert top.sum() == 4
    assert p[top].min() > p[~top].max()
    np.testing.assert_array_equal(Cutoff(0.3).choose(p), p > 0.3)


def test_ties_and_ends():
    assert FalseDiscovery(0.1).choose(np.array([0.95, 0.8, 0.8])).tolist() == [True, False, False]
    assert FalseDiscovery(0.2).choose(np.array([0.95, 0.8, 0.8])).all()
    assert not FalseDiscovery(0.1).choose(np.array([0.5, 0.2])).any()
    assert ExpectedF1().choose(np.zeros(3)).sum() == 1
    assert MostProbable(7).choose(np.array([0.1, 0.1])).all()
    for rule in (Cutoff(), FalseDiscovery(), ExpectedF1(), MostProbable(2)):
        assert rule.choose(np.empty(0)).shape == (0,)


def test_names_and_shortcuts():
    assert as_rule("auto") == Cutoff(0.5)
    assert as_rule("f1") == ExpectedF1()
    assert as_rule(MostProbable(3)) == MostProbable(3)
    assert read_rule(fdr=0.2) == FalseDiscovery(0.2)
    assert read_rule(k=3) == MostProbable(3)
    assert read_rule(threshold=0.9) == Cutoff(0.9)
    assert read_rule(rule="f1") == ExpectedF1()
    assert read_rule() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cutoff(1.0), "threshold=1.0 was given; it must be a number from 0 to below 1"),
        (lambda: ExpectedF1(1.5), "nothing=1.5 was given; it must be None or a number from 0 to 1"),
        (lambda: FalseDiscovery(0.0), "share=0.0 was given; it must be a number between 0 and 1"),
        (lambda: MostProbable(-1), "k=-1 was given; it must be an integer of at least 0"),
        (lambda: read_rule(k=3, fdr=0.1), "fdr=0.1, k=3 were given; they are different rules"),
        (lambda: read_rule(fdr=2), "fdr=2 was given; it must be a number between 0 and 1"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()
