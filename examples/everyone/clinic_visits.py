"""
Several visits of each patient
==============================

Fifty-nine epileptics were counted four times each: 236 rows, but not 236 patients. A
treatment is the same in all four rows of a patient, and so is everything else that makes
this patient have more seizures than others. Who takes the rows for independent is too sure.
"""

# %%
# Seizures in four periods of two weeks, under progabide or a placebo, with the seizures of
# the eight weeks before (Thall and Vail, 1990). Their logarithm is explained.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rlselect import REVS
from rlselect.datasets import load_epilepsy
from rlselect.subset import AutocorrelationWarning

visits = pd.read_csv(load_epilepsy().path)
visits["log baseline"] = np.log(visits.baseline)
visits["log age"] = np.log(visits.age)
visits["log seizures"] = np.log1p(visits.seizures)
frame = visits[
    ["patient", "treatment", "period", "log baseline", "log age", "log seizures"]
]

# %%
# Once with every row for itself, which draws a warning, and once with ``groups``: rows of a
# patient may have something in common, and how much is learnt from them.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", AutocorrelationWarning)
    alone = REVS(random_state=0).fit(frame.drop(columns="patient"), "log seizures")
print(caught[0].message, "\n")
together = REVS(random_state=0).fit(frame, "log seizures", groups="patient")
print("every row for itself:", ", ".join(alone.get_feature_names_out()))
print("with groups:         ", ", ".join(together.get_feature_names_out()))
found = together.dependence_
print(f"{found['clusters']} patients, correlation of two rows {found['correlation']:.2f}")
print(f"worth {found['effective_rows']:.0f} independent rows to a treatment")

# %%
# On the left the probabilities of both fits, with the line that each has to pass to be
# selected: one half, and three quarters with ``groups``. On the right what the one has
# and the other has not seen: what is left of each patient after the selected columns, one
# line of four rows per patient. A patient who is above the others stays above them.
left = visits["log seizures"] - together.predict(frame.drop(columns=["log seizures"]))
order = left.groupby(visits.patient).mean().sort_values().index
place = visits.patient.map({patient: k for k, patient in enumerate(order)})
figure, (bars, lines) = plt.subplots(1, 2, figsize=(11, 4.5))
names = list(alone.feature_names_in_)
height = np.arange(len(names))
bars.barh(height - 0.2, alone.inclusion_, 0.4, label="every row for itself")
bars.barh(height + 0.2, together.inclusion_, 0.4, label="with groups")
bars.axvline(0.5, color="C0", linestyle="--")
bars.axvline(0.75, color="C1", linestyle="--")
bars.set_yticks(height, names)
bars.set(xlabel="probability that it matters", title="treatment is the same in all rows")
bars.legend()
for patient in order:
    mine = (visits.patient == patient).to_numpy()
    lines.plot(place[mine], left[mine], color="C0", alpha=0.5, marker="o", markersize=3)
lines.axhline(0.0, color="grey")
lines.set(xlabel="patients in order of their mean", ylabel="log seizures, what is left")

# %%
# **The answer.** The drug seems to be near certain only to those who count every visit as
# another patient. With ``groups`` the 236 rows say no more about it than some hundred
# independent ones, and what a patient had before remains the one thing that matters.
