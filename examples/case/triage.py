"""
A triage that asks few questions
================================

Age, pulse and temperature cost next to nothing, a blood test something, a scan a lot.
Missing an illness costs 60, a false alarm 15. What should be asked of *this* patient, and
when is enough known?
"""

# %%
# 1,500 simulated patients to learn from, and 1,500 others.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rlselect import DatumwiseClassifier
from rlselect.datumwise import QuestionTreeDisplay


def make_patients(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, n)
    temperature = rng.normal(37.2, 0.9, n)
    pulse = 75 + 8 * (temperature - 37) + rng.normal(0, 10, n)
    risk = 0.04 * (age - 60) + 1.3 * (temperature - 37.8)
    ill = rng.random(n) < 1 / (1 + np.exp(-1.5 * risk))
    blood = np.where(ill, 1.2, 0.0) + rng.normal(0, 1.0, n)
    scan = np.where(ill, 2.5, 0.0) + rng.normal(0, 0.7, n)
    columns = {
        "age": age,
        "pulse": pulse,
        "temperature": temperature,
        "blood": blood,
        "scan": scan,
    }
    return pd.DataFrame(columns), np.where(ill, "ill", "well")


patients, diagnosis = make_patients(1500, seed=0)
others, truth = make_patients(1500, seed=1)

# %%
# Prices and the costs of errors are in the same unit; a test is bought when it is worth its
# price.
costs = {"age": 0.01, "pulse": 0.1, "temperature": 0.1, "blood": 1.0, "scan": 4.0}
errors = np.array(
    [[0.0, 15.0], [60.0, 0.0]]
)  # rows: said ill, said well; columns: is ill, is well
model = DatumwiseClassifier(scoring="bins", costs=costs, error_costs=errors, random_state=0)
model.fit(patients, diagnosis)

# %%
# The first questions, as a tree: what is asked next depends on the answer.
QuestionTreeDisplay.from_estimator(model, patients, max_depth=2)

# %%
# Is it worth it? Against a policy that measures everything for everyone, and one that asks
# nothing.


def mean_cost(answers, spent):
    said, true = (np.searchsorted(model.classes_, labels) for labels in (answers, truth))
    return float(np.mean(spent + errors[said, true]))


bought = model.acquire(others)
free = DatumwiseClassifier(
    scoring="bins", feature_cost=0.0, error_costs=errors, random_state=0
)
none = DatumwiseClassifier(scoring="bins", budget=0, error_costs=errors)
mean_costs = {
    "ask what pays": mean_cost(model.predict(others), model.cost(others)),
    "all tests for everyone": mean_cost(
        free.fit(patients, diagnosis).predict(others), sum(costs.values())
    ),
    "no test for anyone": mean_cost(none.fit(patients, diagnosis).predict(others), 0),
}
figure, ax = plt.subplots(figsize=(6.4, 2.2))
ax.barh(list(mean_costs), list(mean_costs.values()))
ax.invert_yaxis()
ax.set_xlabel("mean cost of a patient, tests and errors")
print(f"scanned: {bought[:, 4].mean():.0%} of the new patients")

# %%
# In use, values are measured when they are asked for.
session = model.start()
values = others.iloc[0]
while (question := session.next()) is not None:
    print(f"please measure {question}: {values[question]:.1f}  ({session.explain()})")
    session.tell(values[question])
print(f"answer: {session.result().label}")

# %%
# **The answer.** Cheap questions first, a scan only for those whose answer it may change.
