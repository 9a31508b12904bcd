"""A formula's coding as plain values builds the coding that it was made of."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rlselect
from rlselect import TemporalProcessRegression


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(rng.standard_normal((5 * n, 3)), columns=["a", "b", "col:n"])
    frame["g"] = np.where(rng.random(5 * n) < 0.5, "u", "w")
    frame["h"] = pd.Categorical(rng.choice(["k", "m", "z"], 5 * n), categories=["z", "k", "m"])
    frame["id"], frame["t"] = np.repeat(np.arange(n), 5), np.tile(np.arange(5), n)
    frame["y"] = frame["a"] + (frame["h"] == "m") + rng.standard_normal(5 * n)
    return frame


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ a + C(g)",
        "y ~ center(a)*g + bs(b, df=4)",
        "y ~ scale(a) + poly(b, 2)",
        "y ~ C(h, Treatment('m')) + `col:n`",
        "y ~ 0 + h + a:b",
        "y ~ a + I(a**2) + h*g",
    ],
)
def test_a_model_with_a_formula_comes_back(visits, formula, tmp_path):
    fitted = TemporalProcessRegression(formula).fit(visits, id="id", time="t")
    loaded = rlselect.load(rlselect.save(fitted, tmp_path / "file"))
    # fewer rows than levels: what was learnt of the columns in fit must be known
    few = visits.iloc[[0, 7]]
    expected = fitted.predict(few, time="t")
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(other.predict(few, time="t"), expected)
    if "h" in formula:
        with pytest.raises(ValueError, match="categories that were not there in fit"):
            loaded.predict(few.assign(h="q"), time="t")
    # fewer terms of what was loaded, as of what was fitted
    mine, theirs = (model.backward_selection(random_state=0, n_draws=200) for model in (loaded, fitted))
    assert mine.model.formula == theirs.model.formula
    assert np.array_equal(mine.model.predict(few, time="t"), theirs.model.predict(few, time="t"))
