"""
Which variables matter for this case?
=====================================

Measurements cost time, money or pain. Not every case needs the same ones: often the first
value says whether a second is worth having. This guide learns which measurement to ask for
next, and when to stop, from 569 biopsies with 30 measurements of cell nuclei. It takes six
steps: set the prices, learn, look at the questions, judge, choose the price again, use it.
"""

# %%
# 1. Set the prices
# -----------------
#
# Prices and errors are in one unit: with 1 for a wrong answer, a price of .005 says that
# 200 measurements are worth one error. Here, what is read off a whole picture (a mean)
# costs less than what has to be looked for (a worst value).
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining, QuestionTreeDisplay

biopsies = load_breast_cancer(as_frame=True)
diagnosis = biopsies.target.map({0: "malignant", 1: "benign"})
train, test, y_train, y_test = train_test_split(
    biopsies.data, diagnosis, random_state=1, stratify=diagnosis
)
prices = {
    name: 0.004 if name.startswith("mean") else 0.01 for name in biopsies.feature_names
}

# %%
# 2. Learn
# --------
#
# Small networks, for a page that is made in seconds; with the default settings, learning
# takes about a minute.
training = NetworkTraining(steps=400, n_members=4, hidden=48)
model = DatumwiseClassifier(
    scoring="network", search=training, costs=prices, random_state=0
)
model.fit(train, y_train)
print(model.summary().dict["answer"])

# %%
# 3. Look at the questions
# ------------------------
#
# The first questions as a tree. What is asked next depends on the answer.
QuestionTreeDisplay.from_estimator(model, train, max_depth=2)

# %%
# Over the biopsies that took no part: who needs how many, and which ones?
bought = model.acquire(test)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), width_ratios=[1, 1.4])
counts = np.bincount(bought.sum(axis=1))
left.bar(range(len(counts)), counts / len(test))
left.set(xlabel="measurements", ylabel="share of the cases")
use = bought.mean(axis=0)
order = np.argsort(-use)[:10]
right.barh(np.array(biopsies.feature_names)[order], use[order])
right.set(xlabel="share of the cases that need it", xlim=(0, 1))
right.invert_yaxis()

# %%
# 4. Judge
# --------
#
# Is an answer after few questions as good as one after all? A forest that gets everything:
from sklearn.ensemble import RandomForestClassifier

forest = RandomForestClassifier(300, random_state=0).fit(train, y_train)
n_bought = bought.sum(axis=1).mean()
print(f"{n_bought:.1f} measurements per case: accuracy {model.score(test, y_test):.3f}")
print(f"all 30, a forest:          accuracy {forest.score(test, y_test):.3f}")

# %%
# 5. Choose the price again
# -------------------------
#
# If that is too many errors, measurements are too dear; if it is too many measurements,
# they are too cheap. Networks learn all prices at once, so that the knob can be turned
# without another fit:
levels = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
needed, right_answers = [], []
for level in levels:
    other = model.at(costs={name: level * price for name, price in prices.items()})
    needed.append(other.acquire(test).sum(axis=1).mean())
    right_answers.append(other.score(test, y_test))
figure, ax = plt.subplots()
ax.plot(needed, right_answers, "o-")
ax.plot(needed[3], right_answers[3], "C1o", markersize=10, label="the prices above")
ax.axhline(
    forest.score(test, y_test), color="0.6", linestyle="--", label="a forest with all 30"
)
ax.set(xlabel="measurements per case", ylabel="accuracy", ylim=(0.85, 1.0))
ax.legend(loc="lower right")

# %%
# 6. Use it
# ---------
#
# A session asks, and says why. ``model.export("questions.html")`` makes a page of it that
# works in any browser, without a network; ``rlselect datumwise ask`` does it in a terminal.
session = model.start()
case = test.iloc[4]
while (question := session.next()) is not None:
    print(f"{question}? {case[question]:.4g}   ({session.explain()})")
    session.tell(case[question])
result = session.result()
print(f"-> {result.label}, cost {result.cost:.3f}; it was {y_test.iloc[4]}")

# %%
# Read on
# -------
#
# - Costs of errors, and who needs a scan: :doc:`/auto_examples/case/triage`.
# - Answers with a promise: :doc:`/auto_examples/case/set_error`.
# - Numbers instead of classes: :doc:`/auto_examples/case/numbers`.
# - Groups, budgets, relations: :doc:`/howto/cases`.
# - How it works: :doc:`/datumwise`.
