"""Features that stand in for one another are reported as a set."""

from copy import copy
from itertools import combinations

import numpy as np
import pytest

from rlselect import REVS, load, save
from rlselect.report import PALETTE
from rlselect.subset import SelectionDisplay


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 9))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]  # nearly x0
    X[:, 4] = X[:, 3]  # a copy
    X[:, 6] = 0.3 * X[:, 5] + X[:, 6]  # too far from x5 to stand in for it
    y = X[:, 0] + X[:, 3] + X[:, 5] + rng.normal(size=120)
    return X, REVS(random_state=0).fit(X, y)


def test_sets_are_found(fitted):
    _, model = fitted
    groups = {tuple(sorted(g["features"])): g for g in model.credible_groups_}
    assert set(groups) == {("x0", "x1"), ("x3", "x4"), ("x5",)}
    assert groups["x0", "x1"]["correlation"] == pytest.approx(
        abs(np.corrcoef(fitted[0][:, 0], fitted[0][:, 1])[0, 1])
    )
    assert model.inclusion_[[0, 1]].max() < 0.95 <= groups["x0", "x1"]["inclusion"] <= 1.0
    assert [g["inclusion"] for g in model.credible_groups_] == sorted(
        (g["inclusion"] for g in model.credible_groups_), reverse=True
    )


def test_two_that_are_both_there_do_not_stand_in_for_one_another():
    rng = np.random.default_rng(5)
    common = rng.normal(size=100)
    X = rng.normal(size=(100, 8))
    X[:, :2] = 0.8 * common[:, None] + 0.6 * X[:, :2]
    y = 0.45 * X[:, 0] + 0.45 * X[:, 1] + rng.normal(size=100)
    model = REVS(random_state=0).fit(X, y)
    # one of them is sure to be there, and most often both are
    assert model.inclusion_[:2].min() > 0.85
    assert model.inclusion_[:2].min() < 0.95
    assert not [g for g in model.credible_groups_ if len(g["features"]) > 1]


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_opposites_and_other_units_are_copies(family):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 7))
    X[:, 1] = rng.random(200) < 0.5
    X[:, 4] = 1.0 - X[:, 1]
    X[:, 5] = 32.0 + 1.8 * X[:, 0]
    y = 2.0 * X[:, 0] + 3.0 * X[:, 1] + rng.normal(size=200)
    model = REVS(random_state=0).fit(X, y if family == "gaussian" else y > 1.5)
    assert np.flatnonzero(model.support_).tolist() == [0, 1]
    assert model.inclusion_[[4, 5]].tolist() == model.inclusion_[[1, 0]].tolist()
    assert model.inclusion_[:2].min() > 0.95
    # where signs are asked for, one of two opposites may be allowed and the other one not
    if family == "gaussian":
        signed = REVS(signs={1: "-", 4: "-"}, random_state=0).fit(X, y)
        assert signed.support_[[1, 4]].tolist() == [False, True]


def test_the_joint_probability_is_that_of_all_subsets(fitted):
    X, model = fitted
    y = np.random.default_rng(1)  # the response of the fixture, drawn again
    draws = y.normal(size=(120, 9))
    noise = y.normal(size=120)
    t = X[:, 0] + X[:, 3] + draws[:, 5] + noise
    free = [0, 1, 2, 3, 5, 6, 7, 8]  # x4 is a copy
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), t - t.mean()
    slabs = np.geomspace(2 * np.log(9) / 120, 4.0, 24)

    def score(s, g):
        A = Z[:, list(s)]
        M = A.T @ A + np.eye(len(s)) / g
        quad = t @ t - t @ A @ np.linalg.solve(M, A.T @ t)
        k = np.arange(len(s))
        price = np.maximum(np.log((8 - k) / (k + 1)), np.log(2)).sum() + (np.log(20) if len(s) else 0.0)
        return -0.5 * 119 * np.log(quad) - 0.5 * np.linalg.slogdet(g * M)[1] - price

    every = [s for k in range(9) for s in combinations(free, k)]
    slab = 0.1
    for _ in range(5):
        best = max(every, key=lambda s: score(s, slab))
        slab = max(slabs, key=lambda g: score(best, g))
    weight = np.exp([score(s, slab) - score(best, slab) for s in every])
    joint = sum(w for s, w in zip(every, weight, strict=True) if 0 in s or 1 in s) / weight.sum()
    found = next(g["inclusion"] for g in model.credible_groups_ if "x0" in g["features"])
    assert found == pytest.approx(joint, abs=1e-3)


def test_they_are_shown_and_kept(fitted, tmp_path):
    _, model = fitted
    text = str(model.summary())
    assert "Variables that stand in for one another" in text
    assert "x3, x4" in text
    several = sum(len(g["features"]) > 1 for g in model.credible_groups_)
    told = "One of x" if several == 1 else f"In each of {several} sets of variables"
    answer = model.summary().dict["answer"]
    assert told in answer
    assert answer.endswith("the data do not tell which.")
    nothing = copy(model)
    nothing.support_ = np.zeros_like(model.support_)
    assert f". But {told[0].lower()}{told[1:]}" in nothing.summary().dict["answer"]
    assert "| Variable" in text or "| variable" in text
    assert model.summary().dict["credible_groups"] == model.credible_groups_
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").credible_groups_ == model.credible_groups_


def test_features_that_enter_together_are_one_member():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    X[:, 2:4] = X[:, :2] + 0.05 * rng.normal(size=(150, 2))
    y = X[:, 0] - X[:, 1] + rng.normal(size=150)
    model = REVS(random_state=0, feature_groups=[[0, 1], [2, 3]]).fit(X, y)
    assert [sorted(g["features"]) for g in model.credible_groups_] == [["x0 + x1", "x2 + x3"]]


def test_of_many_rows_only_what_is_sure_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    model = REVS(random_state=0).fit(X, X[:, 2] + rng.normal(size=6000))
    assert [g["features"] for g in model.credible_groups_] == [["x2"]]


def test_the_picture(fitted):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib.colors import to_hex

    _, model = fitted
    display = SelectionDisplay.from_estimator(model, most=6)
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert len(names) == 6
    np.testing.assert_allclose(widths, [model.inclusion_[int(name[1:])] for name in names])
    tones = {n: to_hex(bar.get_facecolor()) for n, bar in zip(names, display.ax_.patches, strict=True)}
    selected = {f"x{j}" for j in np.flatnonzero(model.support_)}
    sets = [g for g in model.credible_groups_ if len(g["features"]) > 1]
    for name in selected & set(names):
        owner = [k for k, group in enumerate(sets) if name in group["features"]]
        assert tones[name] == PALETTE[1 + owner[0] if owner else 0]
    assert not {tones[name] for name in set(names) - selected} & set(PALETTE)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == [f"2 that stand in for one another: {group['inclusion']:.2f}" for group in sets]
