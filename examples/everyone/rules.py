"""
A selection that has to follow rules
====================================

The form has room for two questions. A coefficient of the wrong sign would not be believed.
Two things may work together, but not without each of them. Such rules are part of the
search: what is selected is the best of what is allowed, not what is left of something else.
"""

# %%
# How far diabetes will have come in a year, from what is known of 442 patients now.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from rlselect import REVS

patients = load_diabetes(as_frame=True, scaled=False)
blood = {
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "sugar",
}
X, y = patients.data.rename(columns=blood), patients.target
train, rest = slice(0, 300), slice(300, None)

# %%
# **No more than so many.** ``max_features`` finds the best subset of a size, and rows that
# took no part say what a smaller form costs.
sizes = [1, 2, 3, 4, None]
fits = [REVS(max_features=size, random_state=0).fit(X[train], y[train]) for size in sizes]
scores = [fit.score(X[rest], y[rest]) for fit in fits]
for fit, score in zip(fits, scores, strict=True):
    print(f"{score:.2f}  {', '.join(fit.get_feature_names_out())}")

# %%
# **Signs.** Where HDL was not measured, cholesterol gets a negative coefficient: it stands
# in for what is missing, and nobody would believe that it protects. ``signs`` leaves such
# subsets out.
cheap = X.drop(columns="HDL")
free = REVS(random_state=0).fit(cheap, y)
known = {"cholesterol": "+", "LDL": "+", "cholesterol / HDL": "+"}
signed = REVS(signs=known, random_state=0).fit(cheap, y)
for title, fit in (("free", free), ("signed", signed)):
    chosen = fit.get_feature_names_out()
    print(
        f"{title}: "
        + ", ".join(
            f"{n} {c:+.2f}" for n, c in zip(chosen, fit.coef_[fit.support_], strict=True)
        )
    )

# %%
# **Two together.** With ``order=2`` products may come in beside their columns. None does;
# the nearest is that of body mass and blood pressure.
pairs = REVS(order=2, random_state=0).fit(X, y)
best = max(pairs.interactions_, key=lambda pair: pair["inclusion"])
print(f"{best['name']}: {best['inclusion']:.2f}, selected: {best['selected']}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
left.plot(range(1, 6), scores, marker="o")
left.set_xticks(range(1, 6), ["1", "2", "3", "4", "free"])
left.set(
    xlabel="questions on the form", ylabel="R squared of other patients", ylim=(0, 0.6)
)
shown = [
    name
    for name in cheap.columns
    if name in {*free.get_feature_names_out(), *signed.get_feature_names_out()}
]
for k, (title, fit) in enumerate((("free", free), ("with signs", signed))):
    values = dict(zip(fit.feature_names_in_, fit.inclusion_, strict=True))
    right.barh(
        [i + 0.4 * k - 0.2 for i in range(len(shown))],
        [values[n] for n in shown],
        0.4,
        label=title,
    )
right.set_yticks(range(len(shown)), shown)
right.set_xlabel("probability that it matters, without HDL")
right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

# %%
# **The answer.** Two questions tell most of what five do. A sign that is known costs
# nothing to say, and keeps out what only stands in for another; products do not matter.
