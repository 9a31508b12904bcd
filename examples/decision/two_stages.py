"""
Who should get what, and what next?
===================================

A trial in two stages: drug or therapy at first, then to go on or to change. What was best
for patients on average may be wrong for half of them. Which of the things known about a
patient should decide, and what is it worth?
"""

# %%
# 300 simulated patients, six variables, randomised at both stages. In truth, severity calls
# for the drug, and a response for going on; nothing else should decide. Age matters for how
# patients feel, whatever they get.
import numpy as np

from rlselect import QLearning, TrialData, compare_regimes
from rlselect.regimes import DecisionMapDisplay, RegimeValueDisplay

rng = np.random.default_rng(0)
n = 300
names = ["severity", "age", "sleep", "weight", "income", "distance"]
columns = {name: rng.standard_normal(n) for name in names}
columns["first"] = rng.choice(["drug", "therapy"], n)
drug = np.where(columns["first"] == "drug", 1.0, -1.0)
columns["relief"] = (
    columns["severity"] * drug - 0.5 * columns["age"] + 0.5 * rng.standard_normal(n)
)
columns["response"] = 0.5 * columns["relief"] + rng.standard_normal(n)
columns["second"] = rng.choice(["go on", "change"], n)
on = np.where(columns["second"] == "go on", 1.0, -1.0)
columns["later"] = columns["response"] * on + 0.5 * rng.standard_normal(n)
trial = TrialData.from_wide(
    columns,
    [
        {"history": names, "action": "first", "reward": "relief", "propensity": "1:1"},
        {
            "history": ["response"],
            "action": "second",
            "reward": "later",
            "propensity": "1:1",
        },
    ],
)

# %%
# Learning goes backwards, from the last stage to the first. ``tailoring_`` are the columns
# a decision needs, ``prognostic_`` those that tell how it will end whatever is done.
learner = QLearning(model="linear", random_state=0).fit(trial)
for stage in (0, 1):
    decides, predicts = learner.tailoring_[stage], learner.prognostic_[stage]
    print(f"stage {stage + 1}: decide by {decides}, also predictive {predicts}")
print(learner.regime_)

# %%
# Where the first decision turns:
DecisionMapDisplay.from_estimator(learner, trial, stage=1, features=("severity", "age"))

# %%
# What is it worth, beside treating everybody alike? Values are cross-fitted: nobody is
# judged by a rule that was learnt from them.
compared = compare_regimes(
    trial,
    {
        "the learnt regime": QLearning(model="linear", random_state=0),
        "drug, go on": ["drug", "go on"],
        "therapy, go on": ["therapy", "go on"],
        "as it was done": "observed",
    },
    model="linear",
    random_state=0,
)
RegimeValueDisplay.from_comparison(compared)
print(compared.difference("the learnt regime", "drug, go on"))

# %%
# **The answer.** Drug or therapy by severity, go on or change by the response; age predicts
# and does not decide.
