"""Derivatives of every outcome against finite differences, and a naive partial likelihood."""

import numpy as np
import pytest

from rlselect.kernels import ClassOutcome, CoxOutcome, OrdinalOutcome, concordance

N, K = 40, 3


def parts(seed=0):
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 9, N).astype(float)
    late = np.where(rng.random(N) < 0.5, 0.0, time - rng.integers(1, 4, N))
    return {
        "Z": rng.standard_normal((K, N)),
        "weight": rng.integers(0, 3, N).astype(float),
        "offset": 0.3 * rng.standard_normal(N),
        "codes": np.append(np.arange(4), rng.integers(0, 4, N - 4)),
        "time": time,
        "event": rng.random(N) < 0.6,
        "entry": np.maximum(late, 0.0),
        "stratum": rng.integers(0, 3, N),
        "coef": 0.3 * rng.standard_normal((3, K)),
    }


def make(name, d):
    w, offset = d["weight"], d["offset"]
    if name == "class":
        return ClassOutcome(d["codes"], 4, w)
    if name == "ordinal":
        return OrdinalOutcome(d["codes"], 4, w, offset)
    more = {"entry": d["entry"], "stratum": d["stratum"]} if name == "cox late strata" else {}
    ties = "breslow" if name == "cox breslow" else "efron"
    return CoxOutcome(d["time"], d["event"], w, offset, ties=ties, **more)


@pytest.mark.parametrize("name", ["class", "ordinal", "cox efron", "cox breslow", "cox late strata"])
def test_derivatives_are_those_of_the_likelihood(name):
    d = parts()
    outcome = make(name, d)
    f, q = outcome.n_own, outcome.n_predictors
    A = d["Z"] if outcome.order is None else d["Z"][:, outcome.order]
    theta = np.concatenate([outcome.start(), d["coef"][:q].T.ravel()])

    def gradient(at):
        point = outcome.at(at[:f], at[f:].reshape(K, q).T @ A)
        return point, np.concatenate([point.own_score, (A @ point.score.T).ravel()])

    point, score = gradient(theta)
    steps = 1e-5 * np.eye(len(theta))
    found = [(gradient(theta + s)[0].value - gradient(theta - s)[0].value) / 2e-5 for s in steps]
    np.testing.assert_allclose(score, found, atol=1e-6)
    numeric = [-(gradient(theta + s)[1] - gradient(theta - s)[1]) / 2e-5 for s in steps]
    bent = np.einsum("abkn,ln->kalb", point.bend(A), A)
    mixed = np.einsum("fan,kn->fka", point.mixed, A).reshape(f, K * q)
    whole = np.block([[point.own_curvature, mixed], [mixed.T, bent.reshape(K * q, K * q)]])
    np.testing.assert_allclose(whole, numeric, atol=1e-6)
    np.testing.assert_allclose(point.squares(A), np.einsum("iaib->iab", bent), atol=1e-12)


def naive_partial(d, eta, ties):
    """Term by term over the copies of the rows."""
    who = np.repeat(np.arange(N), d["weight"].astype(int))
    t, event, entry, s = (d[name][who] for name in ("time", "event", "entry", "stratum"))
    eta = (eta + d["offset"])[who]
    value = 0.0
    for stratum in np.unique(s):
        for when in np.unique(t[event & (s == stratum)]):
            dying = event & (t == when) & (s == stratum)
            risk = np.exp(eta[(t >= when) & (entry < when) & (s == stratum)]).sum()
            m, tied = int(dying.sum()), np.exp(eta[dying]).sum()
            value += eta[dying].sum()
            value -= sum(np.log(risk - (j / m * tied if ties == "efron" else 0.0)) for j in range(m))
    return value


# three, pairs and single rows, and a large one beside small ones
STRATA = [
    np.random.default_rng(1).integers(0, 3, N),
    np.arange(N) * 2 // 3,
    np.maximum(np.arange(N) - 25, 0) // 3,
]


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("stratum", STRATA)
def test_partial_likelihood_is_the_sum_over_events(ties, stratum):
    d = parts(1) | {"stratum": stratum}
    more = {"entry": d["entry"], "stratum": d["stratum"], "ties": ties}
    outcome = CoxOutcome(d["time"], d["event"], d["weight"], d["offset"], **more)
    eta = d["coef"][0] @ d["Z"]
    point = outcome.at(np.zeros(0), eta[None, outcome.order])
    assert point.value == pytest.approx(naive_partial(d, eta, ties), abs=1e-9)
    steps = 1e-5 * np.eye(N)
    slopes = [(naive_partial(d, eta + h, ties) - naive_partial(d, eta - h, ties)) / 2e-5 for h in steps]
    np.testing.assert_allclose(point.score[0], np.array(slopes)[outcome.order], atol=1e-6)


def test_events_without_company_say_nothing():
    time, event, ones, zeros = np.arange(1.0, 5.0), np.ones(4, dtype=bool), np.ones(4), np.zeros(4)
    assert CoxOutcome(time, event, ones, zeros).compares
    assert CoxOutcome(time, event, ones, zeros, stratum=np.array([0, 1, 2, 2])).compares
    assert not CoxOutcome(time, event, ones, zeros, stratum=np.arange(4)).compares
    assert not CoxOutcome(
        time, event, np.array([1.0, 1.0, 1.0, 0.0]), zeros, stratum=np.array([0, 1, 2, 2])
    ).compares
    # the next one enters when the last one has left
    assert not CoxOutcome(time, event, ones, zeros, entry=time - 1.0).compares


def test_baseline_without_columns_is_the_nelson_aalen_estimate():
    d = parts(2)
    ones, zeros = np.ones(N), np.zeros(N)
    outcome = CoxOutcome(d["time"], d["event"], ones, zeros, ties="breslow")
    ((times, hazard),) = outcome.baseline(np.zeros((1, N)))
    rises = [(d["event"] & (d["time"] == t)).sum() / (d["time"] >= t).sum() for t in times]
    np.testing.assert_allclose(hazard, np.cumsum(rises), atol=1e-12)
    # another zero of the predictor is another unit of the hazard
    ((_, moved),) = outcome.baseline(np.full((1, N), 2.0))
    np.testing.assert_allclose(moved, hazard * np.exp(-2.0), rtol=1e-12)


@pytest.mark.parametrize("given", [(), ("entry",), ("stratum",), ("entry", "stratum")])
def test_concordance_counts_pairs(given):
    rng = np.random.default_rng(3)
    time, event, risk = rng.integers(1, 9, 30), rng.random(30) < 0.6, rng.integers(0, 5, 30)
    weight, group = rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    late = np.maximum(time - rng.integers(1, 9, 30), 0)
    good = total = 0.0
    for i in np.flatnonzero(event):
        for j in range(30):
            apart = "stratum" in given and group[i] != group[j]
            if apart or ("entry" in given and late[j] >= time[i]):
                continue
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                total += weight[i] * weight[j]
                good += weight[i] * weight[j] * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    more = {name: {"entry": late, "stratum": group}[name] for name in given}
    assert concordance(time, event, risk, weight, **more) == pytest.approx(good / total)
    assert np.isnan(concordance(time, np.zeros(30, dtype=bool), risk))


def test_prior_of_classes_prefers_none():
    d = parts(4)
    outcome = ClassOutcome(d["codes"], 4, d["weight"])
    Q = outcome.contrasts
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(Q.sum(axis=0), 0.0, atol=1e-12)


def test_cut_points_that_do_not_rise_are_impossible():
    d = parts(5)
    outcome = OrdinalOutcome(d["codes"], 4, d["weight"], d["offset"])
    assert outcome.at(np.array([0.0, 1.0, 0.5]), np.zeros((1, N))).value == -np.inf
