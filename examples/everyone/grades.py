"""
What moves a grade up or down?
==============================

Grades, stages and answers from "never" to "always" have an order, but no unit. Here, the
progression of diabetes in 442 patients is told in four grades, from the mildest quarter to
the worst.
"""

# %%
# ``family="ordinal"`` is the proportional odds model: one coefficient per variable, however
# many grades there are.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from rlselect import REVS

diabetes = load_diabetes(as_frame=True, scaled=False)
grade = 1 + np.digitize(diabetes.target, np.quantile(diabetes.target, [0.25, 0.5, 0.75]))
model = REVS(family="ordinal", random_state=0).fit(diabetes.data, grade)
print(model.summary().dict["answer"])

# %%
# How do the grades shift with the body mass index, for somebody who is average otherwise?
bmi = np.linspace(18, 42, 60)
people = diabetes.data.mean().to_frame().T.loc[np.zeros(60, dtype=int)].assign(bmi=bmi)
shares = model.predict_proba(people)
figure, ax = plt.subplots()
ax.stackplot(
    bmi,
    shares.T,
    labels=[f"grade {label}" for label in model.classes_],
    colors=plt.cm.cividis([0.95, 0.7, 0.4, 0.1]),
)
ax.set(xlabel="body mass index", ylabel="probability", xlim=(18, 42), ylim=(0, 1))
ax.legend(loc="lower right")

# %%
# Grades that are made of a number lose something. The selection on the number itself:
number = REVS(random_state=0).fit(diabetes.data, diabetes.target)
print("grades:", ", ".join(model.get_feature_names_out()))
print("number:", ", ".join(number.get_feature_names_out()))

# %%
# **The answer.** Body mass, blood pressure, sex and two blood values, from four grades as
# from the exact number.
