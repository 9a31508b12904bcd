"""Names of rows and free text in a table: a warning that names them, and a fit that ends."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from rlselect import (
    REVS,
    ActorCriticPredictor,
    DatumwiseClassifier,
    DivideAndConquer,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    TrialData,
)

N = 5000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    frame["id"] = [f"P{k:05d}" for k in rng.permutation(N)]
    frame["note"] = [f"patient {k} said {k % 97}" for k in range(N)]
    return frame, 2.0 * X[:, 0] + rng.standard_normal(N)


FITS = {
    "REVS": lambda X, y: REVS(random_state=0).fit(X, y),
    "ActorCriticPredictor": lambda X, y: ActorCriticPredictor(time_budget=1.0, random_state=0).fit(X, y),
    "RiskRFE": lambda X, y: RiskRFE(time_budget=1.0).fit(X, y),
    "DatumwiseClassifier": lambda X, y: DatumwiseClassifier(
        scoring="bins", time_budget=1.0, random_state=0
    ).fit(X, y > 0),
    "DivideAndConquer": lambda X, y: DivideAndConquer(Lasso(0.1), random_state=0).fit(X, y),
}


@pytest.mark.parametrize("name", FITS)
def test_they_are_named_and_left_out(table, name):
    began = time.process_time()
    with pytest.warns(UserWarning, match=r"left out: 'id' \(5000 levels\), 'note' \(5000 levels\)"):
        fitted = FITS[name](*table)
    # one CPU, whatever else the machine does
    assert time.process_time() - began < 30.0
    assert not fitted.support_[3:].any()
    assert name == "DatumwiseClassifier" or fitted.support_[0]


def test_histories_of_a_trial_name_them_too(table):
    frame, y = table
    columns = [*frame.columns]
    some = frame.assign(A=np.arange(N) % 2, R=y).iloc[:150]
    with pytest.warns(UserWarning, match=r"left out: 'id' \(150 levels\), 'note' \(150 levels\)"):
        trial = TrialData.from_wide(some, [{"history": columns, "action": "A", "reward": "R"}])
    fitted = QLearning(model="linear", time_budget=2.0, random_state=0).fit(trial)
    assert not {"id", "note"} & set(fitted.selected_[0])


def test_curves_refuse_them_with_a_sentence(table):
    frame, y = table
    rows = {"id": np.arange(N) // 5, "time": np.arange(N) % 5}
    with pytest.raises(TypeError, match="column 'id'\\) holds text"):
        TemporalProcessRegression(link="identity").fit(frame, y, **rows)
