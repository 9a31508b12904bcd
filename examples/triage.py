"""Triage: cheap questions first, expensive tests only for those who need them.

Simulated patients have age, pulse and temperature, which cost next to nothing, a blood test and a scan.
Missing an illness costs 60, a false alarm 15.
"""

import numpy as np
import pandas as pd

from rlselect import DatumwiseClassifier


def make_patients(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, n)
    temperature = rng.normal(37.2, 0.9, n)
    pulse = 75 + 8 * (temperature - 37) + rng.normal(0, 10, n)
    risk = 0.04 * (age - 60) + 1.3 * (temperature - 37.8)
    ill = rng.random(n) < 1 / (1 + np.exp(-1.5 * risk))
    blood = np.where(ill, 1.2, 0.0) + rng.normal(0, 1.0, n)
    scan = np.where(ill, 2.5, 0.0) + rng.normal(0, 0.7, n)
    columns = {"age": age, "pulse": pulse, "temperature": temperature, "blood": blood, "scan": scan}
    return pd.DataFrame(columns), np.where(ill, "ill", "well")


patients, diagnosis = make_patients(1500, seed=0)
others, truth = make_patients(1500, seed=1)

costs = {"age": 0.01, "pulse": 0.1, "temperature": 0.1, "blood": 1.0, "scan": 4.0}
errors = np.array([[0.0, 15.0], [60.0, 0.0]])  # rows: said ill, said well; columns: is ill, is well

model = DatumwiseClassifier(scoring="bins", costs=costs, error_costs=errors, random_state=0)
model.fit(patients, diagnosis)
print(model.summary())
print()
print(model.question_tree(patients, max_depth=2))


def mean_cost(answers, spent):
    said, true = (np.searchsorted(model.classes_, labels) for labels in (answers, truth))
    return float(np.mean(spent + errors[said, true]))


bought = model.acquire(others)
ours = mean_cost(model.predict(others), model.cost(others))
everyone = DatumwiseClassifier(scoring="bins", feature_cost=0.0, error_costs=errors, random_state=0).fit(
    patients, diagnosis
)
scan_all = mean_cost(everyone.predict(others), sum(costs.values()))
nobody = mean_cost(
    DatumwiseClassifier(scoring="bins", budget=0, error_costs=errors)
    .fit(patients, diagnosis)
    .predict(others),
    0,
)
print()
print(f"Scanned: {bought[:, 4].mean():.0%} of the new patients")
print(f"Mean cost: {ours:.2f} (all tests for everyone {scan_all:.2f}, no test for anyone {nobody:.2f})")

session = model.start()
values = others.iloc[0]
while (question := session.next()) is not None:
    print(f"Please measure {question}: {values[question]:.1f}")
    session.tell(values[question])
print(f"Answer: {session.result().label}")
