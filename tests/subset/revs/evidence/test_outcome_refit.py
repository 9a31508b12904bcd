"""Refits against statsmodels (tests/reference/make_outcomes.py) and scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rlselect.kernels import class_contrasts
from rlselect.subset.revs._outcome_kind import OutcomeKind, read_survival
from rlselect.subset.revs.evidence import SeparationWarning, fit_outcome, jackknife, outcome_gains

KNOWN = json.loads((Path(__file__).parents[3] / "reference" / "outcomes.json").read_text(encoding="utf-8"))
X = np.array(KNOWN["X"])


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("case", ["plain", "late", "strata", "both", "tied"])
def test_cox_is_that_of_statsmodels(case, ties):
    given, time = {"event": np.array(KNOWN["event"])}, np.array(KNOWN["time"])
    given |= {"entry": np.array(KNOWN["entry"])} if case in ("late", "both") else {}
    given |= {"stratum": np.array(KNOWN["stratum"])} if case in ("strata", "both", "tied") else {}
    kind, codes, _ = read_survival(np.ceil(2 * time) if case == "tied" else time, given, ties)
    fit, known = fit_outcome(X, codes, kind.make, None, None), KNOWN["cox"][case][ties]
    np.testing.assert_allclose(fit.coef[:, 0], known["coef"], atol=1e-8)
    np.testing.assert_allclose(np.sqrt(np.diagonal(fit.covariance)), known["error"], atol=1e-8)
    assert fit.value == pytest.approx(known["value"], abs=1e-8)


@pytest.mark.parametrize("case", ["plain", "strata"])
def test_baseline_hazards_are_those_of_statsmodels(case):
    given = {"event": np.array(KNOWN["event"])}
    given |= {"stratum": np.array(KNOWN["stratum"])} if case == "strata" else {}
    kind, codes, _ = read_survival(np.array(KNOWN["time"]), given, "breslow")
    coef = np.array(KNOWN["cox"][case]["breslow"]["coef"])
    outcome = kind.survival(codes.astype(np.intp), np.ones(len(X)), np.zeros(len(X)))
    mine = outcome.baseline((X @ coef)[outcome.order][None])
    for (times, hazard), (known_times, known) in zip(mine, KNOWN["hazards"][case], strict=True):
        # theirs is that just before each time
        before = np.searchsorted(times, known_times, side="left")
        np.testing.assert_allclose(np.concatenate([[0.0], hazard])[before], known, atol=1e-8)


@pytest.mark.parametrize("case", ["ordinal", "known"])
def test_proportional_odds_are_those_of_statsmodels(case):
    known, offset = KNOWN[case], 0.4 * X[:, 0] if case == "known" else None
    y, kind = np.array(KNOWN["y"], dtype=float), OutcomeKind("ordinal", 4)
    fit = fit_outcome(X, y, kind.make, None, offset)
    np.testing.assert_allclose(fit.coef[:, 0], known["coef"], atol=1e-6)
    np.testing.assert_allclose(fit.own, known["cuts"], atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diagonal(fit.covariance)), known["error"], atol=1e-6)
    assert fit.value == pytest.approx(known["value"], abs=1e-6)
    eta = X @ fit.coef[:, 0] + (0.0 if offset is None else offset)
    below = 1.0 / (1.0 + np.exp(eta[:10, None] - fit.own))
    shares = np.diff(below, axis=1, prepend=0.0, append=1.0)
    np.testing.assert_allclose(shares, known["probabilities"], atol=1e-6)


def test_classes_are_those_of_scikit_learn():
    y, weight = np.array(KNOWN["y"]), np.arange(len(X)) % 3 + 0.5
    fit = fit_outcome(X, y.astype(float), OutcomeKind("multinomial", 4).make, weight, None)
    known = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000, solver="newton-cg").fit(X, y, weight)
    Q = class_contrasts(4)
    centred = known.coef_ - known.coef_.mean(axis=0)
    np.testing.assert_allclose((Q @ fit.coef.T), centred, atol=1e-6)
    np.testing.assert_allclose(Q @ fit.own, known.intercept_ - known.intercept_.mean(), atol=1e-6)


@pytest.mark.parametrize("family", ["multinomial", "ordinal"])
def test_separated_classes_are_told(family):
    x = np.linspace(-1.0, 1.0, 30)
    y = np.digitize(x, [-0.4, 0.3]).astype(float)
    with pytest.warns(SeparationWarning, match="no maximum"):
        fit = fit_outcome(x[:, None], y, OutcomeKind(family, 3).make, None, None)
    assert fit.separated
    assert np.all(np.abs(fit.coef) < 50)


def test_risks_that_order_all_events_are_told():
    x = np.arange(30.0)
    kind, codes, _ = read_survival(40.0 - x, {"event": np.ones(30, dtype=bool)}, "efron")
    with pytest.warns(SeparationWarning):
        assert fit_outcome(x[:, None], codes, kind.make, None, None).separated


def test_a_column_that_is_constant_has_no_effect_on_risks():
    # as in a fold that lacks the only row that differs
    kind, codes, _ = read_survival(np.array(KNOWN["time"]), {"event": np.array(KNOWN["event"])}, "efron")
    fit = fit_outcome(np.full((len(codes), 1), 3.0), codes, kind.make, None, None)
    assert fit.coef[0, 0] == 0.0
    assert not fit.separated


def test_gain_is_the_held_out_loss_that_a_column_saves():
    y, folds = np.array(KNOWN["y"], dtype=float), np.arange(len(X)) % 3
    make = OutcomeKind("ordinal", 4).make
    gains = outcome_gains(X, y, make, [np.array([0]), np.array([1, 2])], None, None, folds)
    losses = []
    for columns in ([0, 1, 2], [1, 2], [0]):
        parts = []
        for fold in range(3):
            fit = fit_outcome(X[folds != fold][:, columns], y[folds != fold], make, None, None)
            inside = folds == fold
            judge = make(y[inside], None, None)
            parts.append(-judge.at(fit.own, (X[inside][:, columns] @ fit.coef).T).value / inside.sum())
        losses.append(np.mean(parts))
    np.testing.assert_allclose(gains, [losses[1] - losses[0], losses[2] - losses[0]], atol=1e-10)


def test_without_columns_there_is_nothing_to_be_unsure_of():
    kind = OutcomeKind("multinomial", 3)
    y, none = np.arange(30) % 3, np.empty((30, 0))
    fit = fit_outcome(none, y, kind.make, None, None)
    assert jackknife(none, y, kind.make, None, None, fit, np.arange(30) // 5).shape == (0, 0)
