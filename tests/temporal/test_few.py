"""Which samples are called small, and which get a warning."""

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.temporal import SmallSampleWarning
from rlselect.temporal._few import apart


def study(n, arm, *, events=None, n_times=4, group=1, seed=0):
    """`arm` of `n` subjects have x = 1; `events` of them all have y = 1; `group` subjects form a cluster."""
    rng = np.random.default_rng(seed)
    who, t = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    data = pd.DataFrame({"id": who, "t": t, "x": (who < arm).astype(float), "z": rng.normal(size=len(who))})
    order = np.concatenate([rng.permutation(n) for _ in range(n_times)]).reshape(n_times, n).T.ravel()
    data["y"] = rng.normal(size=len(who)) if events is None else (order < events).astype(float)
    return data.assign(c=who // group)


def fit(data, link="identity", **roles):
    return TemporalProcessRegression("y ~ x + z", link=link).fit(data, id="id", time="t", **roles)


def test_apart_counts_the_smaller_arm():
    design = fit(study(30, 8))._fitted.design
    np.testing.assert_array_equal(apart(design, design.x[:, 1, :]), 8)
    np.testing.assert_array_equal(apart(design, 1.0 - design.x[:, 1, :]), 8)
    np.testing.assert_array_equal(apart(design, design.x[:, 0, :]), 0)
    np.testing.assert_array_equal(apart(design, design.y), 29)
    gone = study(30, 8)
    gone = gone[(gone["t"] != 2) | (gone["id"] > 2)]
    design = fit(gone)._fitted.design
    np.testing.assert_array_equal(apart(design, design.x[:, 1, :]), [8, 8, 5, 8])


def test_clusters_are_counted_where_they_are_what_is_independent():
    """Sixteen subjects of four whole clusters are four."""
    design = fit(study(60, 16, group=4), cluster="c")._fitted.design
    np.testing.assert_array_equal(apart(design, design.x[:, 1, :]), 4)
    with pytest.warns(SmallSampleWarning, match="'x' is the same for all but 4 clusters"):
        fit(study(60, 16, group=4), cluster="c").test("x")


def test_too_few_subjects_are_said():
    model = fit(study(9, 4))
    with pytest.warns(SmallSampleWarning, match="9 subjects at some time for 3 coefficients"):
        model.test("z")
    with pytest.warns(SmallSampleWarning, match=r"10 or more.*'x' is the same for all but 4 "):
        model.bands(n_draws=9, random_state=0)
    model.test("x", small_sample=False)
    model.bands(n_draws=9, random_state=0, small_sample=False)


def test_a_small_arm_is_said_where_it_is_tested():
    model = fit(study(40, 5))
    model.test("z")
    model.test(np.array([1.0, 0.0, 1.0]))
    for contrast in ("x", np.array([0.0, 1.0, -1.0])):
        with pytest.warns(SmallSampleWarning, match=r"'x' is the same for all but 5 subjects.*6 or more"):
            model.test(contrast)
    with pytest.warns(SmallSampleWarning):
        summary = model.summary()
    assert "'x' is the same for all but 5 subjects" in str(summary).replace("\n", " ")
    fit(study(40, 6)).test("x")
    assert "Levels are not known" not in str(fit(study(40, 6)).summary())


@pytest.mark.parametrize(("link", "events"), [("logit", 4), ("logit", 36), ("log", 4)])
def test_few_events_are_said(link, events):
    with pytest.warns(SmallSampleWarning, match="'y' is the same for all but 4 subjects"):
        fit(study(40, 20, events=events), link).test("z")
    fit(study(40, 20, events=6), link).test("z")


def test_a_small_arm_among_many_subjects_has_the_references_of_small_samples():
    """With 200 subjects but 8 in an arm, chi-square quantiles would be those of 8."""
    model = fit(study(200, 8))
    few, plain = (model.test("x", value=0.4, small_sample=small) for small in (True, False))
    assert few.pvalue > plain.pvalue
    small = model.bands(n_draws=200, random_state=0).critical["x"]
    assert small > 1.1 * model.bands(n_draws=200, random_state=0, small_sample=False).critical["x"]
    enough, plain = (fit(study(200, 40)).test("x", value=0.4, small_sample=small) for small in (True, False))
    assert enough.pvalue == plain.pvalue


def test_many_rows_are_told_and_not_drawn(monkeypatch):
    monkeypatch.setattr("rlselect.temporal._few._AFFORDABLE", 100)
    model = fit(study(200, 8))
    with pytest.warns(SmallSampleWarning, match=r"all but 8 subjects.*measured: 25 or more"):
        result = model.test("x", value=0.4)
    assert result.pvalue == model.test("x", value=0.4, small_sample=False).pvalue
