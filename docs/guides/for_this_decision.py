"""
Which variables matter for this decision?
=========================================

What helps most people may not help this one. A decision in several steps needs to know
which of all the things seen so far should decide, and whether that is worth anything. This
guide goes through a simulated trial in two stages with 400 people who want to stop smoking,
so that the truth is known. It takes six steps: describe the trial, look at the overlap,
learn, read what decides, put a value on it, write the rule down.
"""

# %%
# 1. Describe the trial
# ---------------------
#
# At first everyone gets an app or a coach, by lot; after a month they are offered patches
# or not, by lot. A stage has covariates, an action and a reward. In truth, the coach helps
# those who are dependent and the app the others; patches help those who still crave. Age,
# income and the rest tell who does well, and should not decide.
import numpy as np

from rlselect import AdvantageLearning, QLearning, TrialData, compare_regimes
from rlselect.regimes import (
    DecisionMapDisplay,
    OverlapDisplay,
    PolicyTreeDisplay,
    RegimeValueDisplay,
)

rng = np.random.default_rng(4)
n = 400
known = ["dependence", "age", "income", "sleep", "stress", "distance"]
people = {name: rng.standard_normal(n) for name in known}
people["start"] = rng.choice(["app", "coach"], n)
coach = np.where(people["start"] == "coach", 1.0, -1.0)
people["first month"] = (
    0.8 * people["dependence"] * coach + 0.5 * people["age"] + 0.7 * rng.standard_normal(n)
)
people["craving"] = -0.4 * people["first month"] + rng.standard_normal(n)
people["patches"] = rng.choice(["yes", "no"], n)
patches = np.where(people["patches"] == "yes", 1.0, -1.0)
people["half a year"] = (
    people["craving"] * patches - 0.5 * people["stress"] + 0.7 * rng.standard_normal(n)
)
trial = TrialData.from_wide(
    people,
    [
        {
            "history": known,
            "action": "start",
            "reward": "first month",
            "propensity": "randomized",
        },
        {
            "history": ["craving"],
            "action": "patches",
            "reward": "half a year",
            "propensity": "randomized",
        },
    ],
)

# %%
# At the second stage everything seen before is history too:
print(list(trial.history(2)))

# %%
# 2. Look at the overlap
# ----------------------
#
# Could everybody have got either? In a trial by lot, yes; in records of practice this is
# where most questions end (:doc:`/auto_examples/decision/overlap`).
OverlapDisplay.from_trial(trial)
for report in trial.overlap():
    print(report)

# %%
# 3. Learn
# --------
#
# From the last stage back: what should be done at the end, given everything; then what
# should be done at first, given that the end will be done well. Columns that the outcome
# does not need are removed at each stage.
learner = QLearning(model="linear", random_state=0).fit(trial)

# %%
# 4. Read what decides
# --------------------
#
# ``tailoring_`` are the columns a decision depends on, ``prognostic_`` those that tell how
# it will go whatever is done.
for stage, name in enumerate(("app or coach", "patches")):
    print(f"{name}: by {', '.join(learner.tailoring_[stage])}")
    tells = ", ".join(learner.prognostic_[stage]) or "nothing"
    print(f"    tells how it goes, does not decide: {tells}")

# %%
# Where the first decision turns, in the plane of what decides and what only tells:
DecisionMapDisplay.from_estimator(learner, trial, stage=1, features=("dependence", "age"))
# sphinx_gallery_thumbnail_number = 2

# %%
# 5. Put a value on it
# --------------------
#
# A regime that was learnt from people looks too good on them. Values are cross-fitted:
# nobody is judged by what was learnt from themselves. ``AdvantageLearning``, which models
# differences between actions only, is there as a second opinion.
compared = compare_regimes(
    trial,
    {
        "learnt": QLearning(model="linear", random_state=0),
        "second opinion": AdvantageLearning(model="linear", random_state=0),
        "coach and patches": ["coach", "yes"],
        "as it was done": "observed",
    },
    model="linear",
    random_state=0,
)
RegimeValueDisplay.from_comparison(compared)
gain = compared.difference("learnt", "coach and patches")
print(f"gain over a coach and patches for everyone: {gain}")

# %%
# 6. Write the rule down
# ----------------------
#
# On a card there is room for a question or two. The best ones, and what they are worth:
tree = learner.policy_tree(depth=1)
print(tree)
PolicyTreeDisplay.from_tree(tree)

# %%
# Both turn near zero, where the truth does.
#
# Read on
# -------
#
# - Costs of treatments: :doc:`/auto_examples/decision/policy_tree`.
# - Censored times, doses, several actions, subjects who leave, observational data:
#   :doc:`/regimes`.
# - How well columns are found, and how often intervals hold: :doc:`/regimes`, at its end.
