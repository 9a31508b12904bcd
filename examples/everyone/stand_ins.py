"""
Which columns stand in for one another?
=======================================

When two columns say nearly the same, no data of this size can tell which of them is needed,
and a selector that names one has guessed. ``credible_groups_`` says it instead: *one of
these is needed, and it is not known which*.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from rlselect import REVS

biopsies = load_breast_cancer(as_frame=True)
diagnosis = biopsies.target.map({0: "malignant", 1: "benign"})
model = REVS(random_state=0).fit(biopsies.data, diagnosis)
for group in model.credible_groups_:
    print(f"{group['inclusion']:.3f}  one of: {', '.join(group['features'])}")

# %%
# The correlations show why. On the left, probabilities: members of a group, of one colour,
# share what there is. On the right, bright squares near the diagonal are columns that stand
# in for one another.
members = list(
    dict.fromkeys(name for group in model.credible_groups_ for name in group["features"])
)
places = [biopsies.data.columns.get_loc(name) for name in members]
figure, (bars, squares) = plt.subplots(1, 2, figsize=(11, 5), width_ratios=[1, 1.1])
colours = {
    name: f"C{k}"
    for k, group in enumerate(model.credible_groups_)
    for name in group["features"]
}
bars.barh(members, model.inclusion_[places], color=[colours[name] for name in members])
bars.set(xlabel="probability", title="one colour per group")
bars.invert_yaxis()
image = squares.imshow(
    np.abs(np.corrcoef(biopsies.data[members].T)), cmap="viridis", vmin=0, vmax=1
)
squares.set_xticks(range(len(members)), members, rotation=90)
squares.set_yticks([])
squares.set_title("absolute correlation")
squares.set_anchor("W")
figure.colorbar(image)

# %%
# What happens if one of a group is not to be had, because it is dear or will not be
# measured any more? Forbid it: the others take its place at next to no cost.
largest = max(model.credible_groups_, key=lambda group: len(group["features"]))["features"]
without = REVS(never_select=[largest[0]], random_state=0).fit(biopsies.data, diagnosis)
print(
    f"without {largest[0]}: accuracy {without.score(biopsies.data, diagnosis):.3f}, ",
    end="",
)
print(f"with it {model.score(biopsies.data, diagnosis):.3f}")
print(
    "taken instead:",
    ", ".join(set(without.get_feature_names_out()) - set(model.get_feature_names_out())),
)

# %%
# **The answer.** Only what stands alone in its group is settled. For all others the group
# is the finding, and which member to measure is a question of price.
