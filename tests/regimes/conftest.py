"""A trial of setting I and a learner of it, for the tests of several modules."""

import pytest

from rlselect import QLearning, TrialData
from rlselect.simulate import make_regime_trial


@pytest.fixture(scope="session")
def simulated():
    return make_regime_trial("I", 200, 6, random_state=3)


@pytest.fixture(scope="session")
def trial(simulated):
    return TrialData.from_wide(
        simulated.columns, [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    )


@pytest.fixture(scope="session")
def learner(trial):
    return QLearning(model="anova", random_state=0).fit(trial)
