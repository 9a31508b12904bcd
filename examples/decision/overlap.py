"""
Can these data answer the question at all?
==========================================

Where nobody like this patient ever got the other treatment, no method can say what it would
have done. Records of practice often are like that: physicians give the drug to those who
need it.
"""

# %%
# Two sets of simulated records. In the first, severe cases get the drug somewhat more
# often; in the second, hardly anybody else does. The drug helps severe and middling cases
# by 1 and harms mild ones by 2.
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from rlselect import TrialData, regime_value
from rlselect.regimes import OverlapDisplay


def make_records(slope, seed=0, n=600):
    rng = np.random.default_rng(seed)
    severity, age = rng.standard_normal((2, n))
    drug = rng.random(n) < 1 / (1 + np.exp(-slope * severity))
    effect = np.where(severity > -0.5, 1.0, -2.0)
    relief = effect * drug - severity + 0.3 * age + rng.standard_normal(n)
    columns = {
        "severity": severity,
        "age": age,
        "drug": np.where(drug, "yes", "no"),
        "relief": relief,
    }
    stage = {"history": ["severity", "age"], "action": "drug", "reward": "relief"}
    return TrialData.from_wide(columns, [stage])


records = {"mild preference": make_records(0.8), "strong preference": make_records(5.0)}

# %%
# The report says for whom an action was out of reach, and what to do about it.
for name, trial in records.items():
    print(f"--- {name}")
    print(trial.overlap()[0])

# %%
# The picture for strong preference: the two groups hardly meet.
OverlapDisplay.from_trial(records["strong preference"])

# %%
# What would treating everybody be worth? Where the groups overlap, the answer is near the
# truth. Where mild cases hardly ever got the drug, its harm rests on a handful of patients
# with large weights: the interval is many times as wide, and a warning comes with it.
import warnings

figure, ax = plt.subplots(figsize=(6.4, 2.4))
for place, (name, trial) in enumerate(records.items()):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        value = regime_value(trial, ["yes"], model="linear", random_state=0)
    print(f"{name}: {value}", *(f"\n  warning: {w.message}" for w in told[:1]))
    low, high = value.interval
    ax.errorbar(
        value.value,
        place,
        xerr=[[value.value - low], [high - value.value]],
        fmt="C0o",
        capsize=4,
    )
truth = stats.norm.cdf(0.5) - 2 * stats.norm.cdf(-0.5)
ax.axvline(truth, color="C1", label="truth")
ax.set_yticks(range(2), list(records))
ax.set(xlabel="value of treating everybody", ylim=(-0.5, 1.5))
ax.legend()

# %%
# **The answer.** Look at the overlap before you ask for an effect. Where it is poor, ask
# about those patients only for whom both treatments were possible.
