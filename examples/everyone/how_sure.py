"""
How sure is each variable, and how many are wrong?
==================================================

442 patients with diabetes, ten measurements at the beginning and how far the disease has
come a year later. With all squares and products there are 64 variables. A selection of them
is a list of decisions; behind it stands a probability for each variable. This page shows
what can be done with these, without fitting again.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures

from rlselect import REVS

diabetes = load_diabetes(as_frame=True)
products = (
    PolynomialFeatures(2, include_bias=False)
    .set_output(transform="pandas")
    .fit(diabetes.data)
)
X = products.transform(diabetes.data).drop(columns="sex^2")  # which says the same as sex
X = (X - X.mean()) / X.std()
model = REVS(random_state=0).fit(X, diabetes.target)
print(model.summary().dict["answer"])

# %%
# ``support_`` takes what is more likely in the model than not. With ``select`` another rule
# is applied to the same fit: ``fdr=0.1`` takes as many variables as keep the expected share
# of wrong ones below a tenth.
rules = {
    "more likely than not": {},
    "fdr 1 %": {"fdr": 0.01},
    "fdr 10 %": {"fdr": 0.1},
    "fdr 30 %": {"fdr": 0.3},
}
chosen = {
    name: model.select(**rule) if rule else model.support_ for name, rule in rules.items()
}
for name, mask in chosen.items():
    wrong = (1 - model.inclusion_[mask]).sum()
    print(f"{name:20} {mask.sum():2d} variables, {wrong:.1f} of them wrong by expectation")

# %%
# Every variable by its probability: a few are sure, most are out, and the ones between are
# where rules differ.
order = np.argsort(-model.inclusion_)[:30]
figure, ax = plt.subplots(figsize=(8, 4.5))
ax.bar(
    range(30),
    model.inclusion_[order],
    color=["C0" if model.support_[j] else "0.75" for j in order],
)
for name, colour in (("fdr 1 %", "C1"), ("fdr 10 %", "C2"), ("fdr 30 %", "C3")):
    ax.axvline(
        chosen[name].sum() - 0.5, color=colour, label=f"{name}: all left of this line"
    )
ax.set_xticks(range(30), X.columns[order], rotation=90)
ax.set(ylabel="probability of being needed", title="blue: more likely needed than not")
ax.legend()

# %%
# Is a probable variable one that is found again? Six halves of the patients select alone:
# ``stability`` is the share of them that select a variable.
again = REVS(random_state=0).stability(X, diabetes.target, n_splits=3)
for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.95), (0.95, 1.01)):
    among = (model.inclusion_ >= low) & (model.inclusion_ < high)
    share = again[among].mean()
    text = f"{low:.2f} to {min(high, 1):.2f}: {among.sum():2d} variables"
    print(f"{text}, found by {share:.0%} of the halves")

# %%
# **The answer.** A handful is near certain and is found by halves of the patients too; the
# others seldom are. Choose the rule by what a wrong variable costs you:
# :doc:`/howto/decide` has all of them, with what was measured.
