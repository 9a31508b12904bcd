"""
When does it matter to take the medicine?
=========================================

Four hundred simulated patients with hepatitis take a weekly injection for half a year.
Whether they took it is known for every week, and in the end whether the virus is gone. Does
skipping matter, and in which weeks?
"""

# %%
# One row per patient and week. The model is a logistic regression in every week, whose
# coefficients are curves in time.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rlselect import TemporalProcessRegression
from rlselect.simulate import make_adherence
from rlselect.temporal import EffectCurvesDisplay

study = make_adherence(random_state=1)
model = TemporalProcessRegression(
    "svr ~ peginterferon + sex + race + ishak", link="logit", n_splines=10
)
model.fit(study.weekly, id="id", time="week")
print(model.summary().dict["answer"])

# %%
# All curves, with bands that hold a whole curve with a probability of .95. Where a band
# leaves the line at zero, there is an effect in that week.
EffectCurvesDisplay.from_estimator(model, random_state=0)

# %%
# Questions about a whole curve have tests: is there any effect, and does it change?
for name in ("peginterferon", "sex", "race", "ishak"):
    any_effect = model.test(name).pvalue
    constant = model.test_constant(name, random_state=0).pvalue
    text = f"{name:14} no effect on average: p = {any_effect:.4f}"
    print(f"{text}   constant in time: p = {constant:.2f}")

# %%
# For somebody like this: how probable is success, with the injection of a week and without?
weeks = np.sort(study.weekly["week"].unique())
figure, ax = plt.subplots()
for taken, style in ((1.0, "C0"), (0.0, "C1")):
    someone = {"peginterferon": taken, "sex": "male", "race": "caucasian", "ishak": 2.0}
    people = pd.DataFrame({"week": weeks, **someone})
    told = model.predict_interval(people, smoothed=True)
    ax.plot(weeks, told["mean"], style, label="taken" if taken else "skipped")
    ax.fill_between(weeks, told["lower"], told["upper"], color=style, alpha=0.2, lw=0)
ax.set(xlabel="week", ylabel="probability that the virus is gone", ylim=(0, 1))
ax.legend()

# %%
# **The answer.** The injection matters throughout, and nothing says that its effect
# changes. The whole analysis of a trial is told in :doc:`/temporal`.
