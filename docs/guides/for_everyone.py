"""
Which variables matter for everyone?
====================================

A table with a row per case, a target and many columns: which of them are needed to explain
the target, for all cases alike? This guide goes through it with 1,993 communities of the
United States, 100 variables about people, income, families, housing and police, and the
rate of violent crimes. It takes six steps: look, select, read the answer, doubt it, check
it, use it.
"""

# %%
# 1. Look first
# -------------
#
# ``check`` looks at the table as it comes: what is in the way of a fit, what may spoil its
# answer, and which method suits it. It compares a forest with straight lines to see whether
# these are enough.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import rlselect
from rlselect import REVS
from rlselect.datasets import load_crime
from rlselect.subset import SelectionDisplay

crime = load_crime()
look = rlselect.check(crime.frame, "target")
for finding in look.findings:
    print(f"{finding.weight}: {finding.text}")
print(f"advice: {look.recommendation.method}. {look.recommendation.why}")

# %%
# 2. Select
# ---------
#
# The advice is followed on 500 of the communities; the others are kept to check what comes
# out. There is nothing to tune: the noise, the number of variables and the size of their
# effects are read off the data.
rows = np.random.default_rng(1).permutation(len(crime.target))
select, keep = rows[:500], rows[500:]
model = REVS(random_state=0).fit(crime.frame.take(select), "target")

# %%
# 3. Read the answer
# ------------------
#
# Every report opens with its answer. *Near certain* is a probability of .95 or more,
# *likely* one of .5 or more.
print(model.summary().dict["answer"])

# %%
# The picture says the same: how probable it is that each variable is needed. What is
# selected has the full colour; variables of one colour stand in for one another, and below
# stands how sure it is that one of them is needed.
SelectionDisplay.from_estimator(model)

# %%
# 4. Doubt it
# -----------
#
# Many variables of such a table are near copies of each other. A set of several variables
# in the picture above means: one of them is needed, and these data do not tell which. A
# list of single names would hide that.
for group in model.credible_groups_:
    if len(group["features"]) > 1:
        print(f"one of {', '.join(group['features'])}")

# %%
# How many of the selected variables may be wrong? That depends on the rule, and the rule on
# what a wrong variable costs you. Rules are applied to the same fit:
for text, mask in {
    "more likely than not": model.support_,
    "one in ten may be wrong": model.select(fdr=0.1),
    "as many right ones as can be had": model.select(rule="f1"),
}.items():
    wrong = (1 - model.inclusion_[mask]).sum()
    print(f"{text}: {mask.sum()} variables, expected wrong {wrong:.1f}")

# %%
# 5. Check it
# -----------
#
# The kept communities took no part. Is the small model as good there as one with all
# variables?
from sklearn.linear_model import RidgeCV

others, truth = crime.frame.take(keep), crime.target[keep]
ridge = RidgeCV(np.geomspace(0.01, 100, 13)).fit(crime.data[select], crime.target[select])
print(
    f"R² elsewhere: {model.score(others, truth):.3f} with averages over small models, ",
    end="",
)
print(f"{ridge.score(crime.data[keep], truth):.3f} with all 100 variables and a ridge")

# %%
# Many weak variables together predict somewhat better than the few whose need can be shown
# from 500 rows. If only the prediction counts and all columns are there anyway, keep them
# all; to know what matters, select.

# %%
# Are straight lines enough? Residuals show a bow where they are not. Here, the highest
# rates are higher than predicted: if these matter most, use a method that bends, such as
# :doc:`/acp`.
predicted = model.predict(others)
residual = truth - predicted
bins = np.quantile(predicted, np.linspace(0, 1, 13))
middle = (bins[1:] + bins[:-1]) / 2
means = [residual[(predicted >= a) & (predicted <= b)].mean() for a, b in pairwise(bins)]
figure, ax = plt.subplots()
ax.plot(predicted, residual, ".", color="0.8", markersize=3)
ax.plot(middle, means, "o-", label="mean of a twelfth of the communities")
ax.axhline(0, color="0.5", lw=1)
ax.set(xlabel="predicted rate of violent crimes", ylabel="residual", ylim=(-0.5, 0.5))
ax.legend()

# %%
# 6. Use it
# ---------
#
# The selected columns, for another model; the model itself, for later; the report, for
# others. See :doc:`/howto/save` and :doc:`/howto/summary`.
print(model.transform(others).shape)
print(
    len(model.summary()._repr_html_()) // 1000,
    "kB of report, in one file without scripts from elsewhere",
)

# %%
# Read on
# -------
#
# - The same for classes, grades, counts and times until an event:
#   :doc:`/auto_examples/index` has one page for each.
# - Curves and products of variables: :doc:`/auto_examples/everyone/products` and
#   :doc:`/acp`.
# - A kernel machine: :doc:`/auto_examples/everyone/kernel_machine` and :doc:`/risk_rfe`.
# - More rows than memory: :doc:`/howto/bigdata`.
# - How it works: :doc:`/method`.
