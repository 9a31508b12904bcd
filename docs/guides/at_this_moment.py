"""
Which variables matter at this moment?
======================================

The same people are seen again and again, and what matters at first may not matter later.
This guide asks when a drug begins to help, in a simulated trial of 160 patients with up to
eight visits, which comes with the package. It takes five steps: look, fit, read the curves,
test, and mind the ones who stay away.
"""

# %%
# 1. Look
# -------
#
# One row per patient and visit. The score counts symptoms, so that small is good.
import matplotlib.pyplot as plt

import rlselect
from rlselect import TemporalProcessRegression
from rlselect.datasets import load_simulated_visits
from rlselect.temporal import EffectCurvesDisplay

visits = load_simulated_visits().frame.to_pandas()
print(visits.head(3))
look = rlselect.check(visits, "score", question="moment")
print(f"advice: {look.recommendation.method}. {look.recommendation.why}")

# %%
# Means by arm hide how different patients are, and that they become fewer:
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
for colour, (arm, rows) in zip(("C0", "C1"), visits.groupby("arm"), strict=True):
    by_visit = rows.groupby("visit")["score"]
    left.fill_between(
        by_visit.mean().index,
        by_visit.quantile(0.1),
        by_visit.quantile(0.9),
        color=colour,
        alpha=0.15,
    )
    left.plot(by_visit.mean(), color=colour, label=arm)
    right.plot(by_visit.count(), "o-", color=colour, label=arm)
left.set(xlabel="visit", ylabel="score: mean, and the middle 80 %")
right.set(xlabel="visit", ylabel="patients who came", ylim=(0, None))
left.legend()

# %%
# 2. Fit
# ------
#
# A regression at every visit, with coefficients that are curves in time. How the visits of
# a patient depend on each other needs no model.
visits["arm"] = visits["arm"].astype("category").cat.set_categories(["placebo", "active"])
model = TemporalProcessRegression("score ~ arm + age").fit(
    visits, id="patient", time="visit"
)
print(model.summary().dict["answer"])

# %%
# 3. Read the curves
# ------------------
#
# The dark band holds at each visit, the light one for the whole curve. Where the light band
# leaves zero, there is an effect.
EffectCurvesDisplay.from_estimator(model, random_state=0)

# %%
band = model.bands(random_state=0)
name = next(column for column in model.coef_.columns if column.startswith("arm"))
outside = band[name].index[band[name]["upper"] < 0]
print(f"the band of {name} is below zero at visits {', '.join(map(str, outside))}")

# %%
# 4. Test
# -------
#
# One question about a whole curve is better than eight about its points.
print(f"no effect on average:      p = {model.test('arm').pvalue:.2g}")
at_any = model.test("arm", kind="sds", random_state=0)
print(f"no effect at any visit:    p = {at_any.pvalue:.2g}")
constant = model.test_constant("arm", random_state=0)
print(f"the same at every visit:   p = {constant.pvalue:.2g}")
print(f"no effect of age:          p = {model.test('age').pvalue:.2g}")

# %%
# 5. Mind the ones who stay away
# ------------------------------
#
# The worse patients are, the sooner they leave; those who stay are the better ones, in both
# arms. ``dropout`` weights the others up, by what was last seen of them. The truth that the
# trial was simulated with: the effect grows to six points on day 84 and stays.
ways = {"as seen": {}, "weighted for leaving": {"dropout": ["score"]}}
figure, ax = plt.subplots()
for colour, (label, way) in zip(("C0", "C1"), ways.items(), strict=True):
    fitted = TemporalProcessRegression("score ~ arm + age").fit(
        visits, id="patient", time="visit", **way
    )
    curve = fitted.bands(random_state=0)[name]
    ax.plot(curve["estimate"], color=colour, label=label)
    ax.fill_between(
        curve.index, curve["lower"], curve["upper"], color=colour, alpha=0.15, lw=0
    )
day = visits.groupby("visit")["day"].median()
ax.plot(day.index, -6 * (day / 84).clip(upper=1), "k:", label="truth")
ax.axhline(0, color="0.6", lw=1)
ax.set(xlabel="visit", ylabel="effect of the drug on the score")
ax.legend()

# %%
# The drug helps from the first visit on, and more from visit to visit until the fifth.
# Leaving has changed little here; it is worth a look because it could have.
#
# Read on
# -------
#
# - Probabilities instead of scores, and who should take what when:
#   :doc:`/auto_examples/moment/curves`.
# - Two groups without a model: :doc:`/auto_examples/moment/two_groups`.
# - Irregular visits, weights, clusters: :doc:`/howto/visits`.
# - How it works, and how well: :doc:`/temporal`.
