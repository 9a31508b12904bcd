"""
Visits that come when they come
===============================

Planned for every twelfth day, patients come early, late or not at all, and the worse they
are the sooner they stay away. When does the drug begin to help?
"""

# %%
# A simulated trial that comes with the package: 160 patients, up to eight visits each. The
# days of the visits:
import matplotlib.pyplot as plt
import numpy as np

from rlselect import TemporalProcessRegression
from rlselect.datasets import load_simulated_visits

visits = load_simulated_visits().frame.to_pandas()
figure, ax = plt.subplots(figsize=(7, 3))
for colour, (arm, rows) in zip(("C0", "C1"), visits.groupby("arm"), strict=True):
    patients = rows["patient"].astype("category").cat.codes
    ax.plot(rows["day"], patients, ".", markersize=3, color=colour, label=arm)
ax.set(xlabel="day", ylabel="patient", xlim=(0, None))
ax.legend(loc="upper right")

# %%
# No two patients share their days. ``visits="local"`` weights all visits by how near they
# are to a day; ``"carry"`` keeps a patient's last value until the next visit.
days = np.arange(14, 85, 7)
local = TemporalProcessRegression(
    "score ~ arm + age", visits="local", grid=days, bandwidth=14
)
carry = TemporalProcessRegression("score ~ arm + age", visits="carry", grid=days)
for model in (local, carry):
    model.fit(visits, id="patient", time="day")

# %%
# The effect of the drug on the score of symptoms (small is good), with bands for the whole
# curve:
name = next(column for column in local.coef_.columns if column.startswith("arm"))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (title, model) in zip(
    axes, {"nearby visits": local, "last visit": carry}.items(), strict=True
):
    band = model.bands(random_state=0)[name]
    ax.fill_between(band.index, band["lower"], band["upper"], alpha=0.2, lw=0)
    ax.plot(band.index, band["estimate"])
    ax.axhline(0, color="0.6", lw=1)
    ax.set(title=title, xlabel="day")
    outside = band.index[(band["lower"] > 0) | (band["upper"] < 0)]
    print(f"{title}: the band leaves zero from day {outside.min()} on")
axes[0].set_ylabel(
    "placebo against active" if "placebo" in name else "active against placebo"
)

# %%
# **The answer.** The effect grows for weeks before it can be told from nothing. Those who
# feel worse leave sooner; ``fit(..., dropout=["score"])`` weights for that:
# :doc:`/howto/visits`.
