import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def reference():
    path = Path(__file__).parent.parent / "reference" / "temporal.json"
    return json.loads(path.read_text())


def long_data(seed=0, n=120, n_times=6, missing=0.08):
    """Correlated subjects, a time-varying and two baseline covariates, some rows absent."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), n_times)
    t = np.tile(np.arange(n_times), n)
    trait = rng.normal(size=n)[who]
    data = pd.DataFrame({"id": who, "t": t})
    data["x"] = 0.5 * trait + rng.normal(size=len(who))
    data["z"] = rng.normal(size=n)[who]
    data["g"] = rng.choice(list("abc"), size=n)[who]
    eta = 0.2 + 0.8 * np.cos(t / 2) * data["x"] + 0.3 * data["z"] + 0.5 * trait
    data["y"] = (rng.random(len(who)) < 1 / (1 + np.exp(-eta))).astype(int)
    data["v"] = eta + rng.normal(size=len(who))
    data["c"] = rng.poisson(np.exp(0.4 * eta))
    return data[rng.random(len(data)) >= missing].reset_index(drop=True)


@pytest.fixture
def make_data():
    return long_data


@pytest.fixture
def data():
    return long_data()
