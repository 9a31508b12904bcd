"""Residuals of neighbouring rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rlselect import REVS
from rlselect.subset import AutocorrelationWarning
from rlselect.subset.revs._autocorrelation import neighbours_alike


def remembering(rng, n, columns, memory):
    steps = rng.normal(size=(n, columns))
    for t in range(1, n):
        steps[t] += memory * steps[t - 1]
    return steps


def test_correlation_and_inflation_by_definition():
    rng = np.random.default_rng(0)
    n = 4000
    rows = remembering(rng, n, 3, 0.6)
    rows[:, 2] = rng.normal(size=n)
    alike = neighbours_alike(rows[:, 0], rows[:, 1:])
    r = rows[:, 0] - rows[:, 0].mean()
    assert alike.first == pytest.approx(r[1:] @ r[:-1] / (r @ r))
    assert alike.z > 20
    # (1 + .36) / (1 - .36), and nothing for a column without memory
    np.testing.assert_allclose(alike.inflation, [2.125, 1.0], atol=0.25)


def test_independent_residuals_give_no_alarm():
    rng = np.random.default_rng(1)
    columns = remembering(rng, 200, 2, 0.9)
    alarms = 0
    for _ in range(500):
        mean = 1 / (1 + np.exp(-columns[:, 0]))
        for residual in (
            rng.normal(size=200),
            rng.standard_t(3, size=200),
            ((rng.random(200) < mean) - mean) / np.sqrt(mean * (1 - mean)),
        ):
            alarms += neighbours_alike(residual, columns).z > 3.09
    assert alarms <= 8


def test_several_residuals_of_a_row_count_together():
    rng = np.random.default_rng(3)
    rows = remembering(rng, 500, 3, 0.5)
    alike = neighbours_alike(rows[:, :2], rows[:, 2:])
    r = rows[:, :2] - rows[:, :2].mean(axis=0)
    assert alike.first == pytest.approx((r[1:] * r[:-1]).sum() / (r * r).sum())
    # turned or not
    turned = neighbours_alike(rows[:, :2] @ [[0.6, 0.8], [-0.8, 0.6]], rows[:, 2:])
    np.testing.assert_allclose(turned.inflation, alike.inflation)


def times_or_classes(rng, family, eta):
    if family == "multinomial":
        chance = np.column_stack([eta, -eta, 0.0 * eta]) + rng.gumbel(size=(len(eta), 3))
        return np.array(["a", "b", "c"])[np.argmax(chance, axis=1)]
    if family == "ordinal":
        return np.digitize(eta + rng.logistic(size=len(eta)), [-1.0, 1.0])
    y = np.zeros(len(eta), dtype=[("event", bool), ("time", float)])
    y["time"] = rng.exponential(np.exp(-eta))
    y["event"] = rng.random(len(eta)) < 0.8
    return y


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_outcomes_warn_where_they_are_too_sure(family):
    rng = np.random.default_rng(6)
    steps = remembering(rng, 400, 5, 0.8)
    X, y = steps[:, :4], times_or_classes(rng, family, steps[:, 0] + 1.5 * steps[:, 4])
    model, weight = REVS(family=family, random_state=0), np.arange(400) % 7 > 0
    with pytest.warns(AutocorrelationWarning, match="are alike too"):
        model.fit(X, y, sample_weight=weight)
    mixed = rng.permutation(400)
    order = np.argsort(y["time"] if family == "cox" else y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (mixed, order):
            model.fit(X[rows], y[rows])


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_fit_warns_where_it_is_too_sure(family, tmp_path):
    rng = np.random.default_rng(2)
    steps = remembering(rng, 400, 5, 0.8)
    eta = 0.4 * (steps[:, 0] + steps[:, 4])
    y = eta if family == "gaussian" else rng.poisson(np.exp(eta))
    X = steps[:, :4]
    with pytest.warns(AutocorrelationWarning, match="'x0' are alike too"):
        REVS(family=family, random_state=0).fit(X, y)
    # shuffled or sorted rows tell nothing of time, and columns without memory are no surer for it
    mixed = rng.permutation(400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        REVS(family=family, random_state=0).fit(X[mixed], y[mixed])
        order = np.argsort(y)
        REVS(family=family, random_state=0).fit(X[order], y[order])
        if family == "gaussian":
            Z = rng.normal(size=(400, 4))
            REVS(random_state=0).fit(Z, Z[:, 0] + steps[:, 4])


def test_piles_of_classes_are_no_series():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 0], 60)
    X = rng.normal(size=(180, 3))
    X[:, 0] += 1.2 * y + np.repeat([-1.0, 0.0, 1.0], 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert REVS(random_state=0).fit(X, y).support_[0]
    # copies of a row that follow each other count as one
    Z = rng.normal(size=(60, 3)).repeat(4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        REVS(random_state=0).fit(Z, Z[:, 0] + rng.normal(size=60).repeat(4))


def test_rows_of_a_file_are_looked_at_in_their_order(tmp_path):
    rng = np.random.default_rng(3)
    steps = remembering(rng, 20_000, 4, 0.8)
    frame = pd.DataFrame(steps[:, :3], columns=["a", "b", "c"]).assign(y=steps[:, 0] + steps[:, 3])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=4000)
    for source in (frame, tmp_path / "rows.parquet"):
        with pytest.warns(AutocorrelationWarning, match="'a' are alike too"):
            REVS(random_state=0).fit(source, "y")


def test_what_rounding_leaves_of_a_sum_has_no_order():
    k = np.arange(50.0)
    X = np.column_stack([k, 2 * k % 7, k % 3])
    # warnings are errors
    assert REVS(random_state=0).fit(X, 1.5 * X[:, 0] + X[:, 2]).support_.tolist() == [True, False, True]
