"""
One set of variables for six blood values
=========================================

Six blood values were measured in 442 patients with diabetes. Do age, sex, body mass and
blood pressure show in them: in all together, or in some of them?
"""

# %%
# A target of several columns asks for one set of variables for all of them, unless each
# column is to have its own.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from rlselect import REVS

diabetes = load_diabetes(as_frame=True, scaled=False)
names = {
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "ratio",
    "s5": "log trigl.",
    "s6": "glucose",
}
blood = diabetes.data[list(names)].rename(columns=names)
people = diabetes.data[["age", "sex", "bmi", "bp"]]
shared = REVS(random_state=0).fit(people, blood)
each = REVS(responses="each", random_state=0).fit(people, blood)
print("for all together:", ", ".join(shared.get_feature_names_out()))

# %%
# How probable it is that a variable is needed for a blood value:
figure, ax = plt.subplots(figsize=(7, 3.2))
image = ax.imshow(
    each.inclusion_by_response_.T, cmap="cividis", vmin=0, vmax=1, aspect="auto"
)
for i, response in enumerate(each.inclusion_by_response_):
    for j, probability in enumerate(response):
        colour = "k" if probability > 0.5 else "w"
        ax.text(i, j, f"{probability:.2f}", ha="center", va="center", color=colour)
ax.set_xticks(range(6), each.response_names_)
ax.set_yticks(range(4), people.columns)
figure.colorbar(image, label="probability")

# %%
# **The answer.** All four show in blood values, and the picture says in which. For measures
# of the same thing, and for responses that nothing explains: :doc:`/howto/responses`.
