"""
How many measurements does a good diagnosis need?
=================================================

The price of a measurement decides how many are bought, and that decides how good the
answers are. One fit, many prices: the frontier shows what each further measurement is
worth.
"""

# %%
# 569 biopsies, 30 measurements of cell nuclei, all at the same price.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from rlselect import DatumwiseClassifier
from rlselect.datumwise import FeatureUseDisplay, NetworkTraining

biopsies = load_breast_cancer(as_frame=True)
diagnosis = biopsies.target.map({0: "malignant", 1: "benign"})
train, test, y_train, y_test = train_test_split(
    biopsies.data, diagnosis, random_state=0, stratify=diagnosis
)

# %%
# Networks learn all prices at once. These are small ones, for a page that is made in
# seconds; the defaults take their time.
training = NetworkTraining(steps=400, n_members=4, hidden=48)
model = DatumwiseClassifier(
    scoring="network", search=training, feature_cost=0.005, random_state=0
)
model.fit(train, y_train)

# %%
# ``frontier`` gives what is bought and how good the answers are at 16 prices, here on
# biopsies that took no part. A forest that takes the same few measurements for everyone is
# there to compare with.
curve = model.frontier(test, y_test)
forest = RandomForestClassifier(200, random_state=0).fit(train, y_train)
best = forest.feature_importances_.argsort()[::-1]
sizes = [1, 2, 3, 4, 6, 8]
same = [
    RandomForestClassifier(200, random_state=0)
    .fit(train.iloc[:, best[:k]], y_train)
    .score(test.iloc[:, best[:k]], y_test)
    for k in sizes
]
figure, ax = plt.subplots()
ax.plot(
    30 * (1 - curve["sparsity"]),
    curve["accuracy"],
    "o-",
    label="bought one by one, for each case",
)
ax.plot(sizes, same, "s--", label="a forest, the same for all cases")
ax.axhline(forest.score(test, y_test), color="0.6", label="a forest with all 30")
ax.set(xlabel="measurements per case", ylabel="accuracy", xlim=(0, 10))
ax.legend()

# %%
# Who buys what? Some measurements are asked of everybody, others of a few; most of nobody.
FeatureUseDisplay.from_estimator(model, test, most=12)

# %%
# A fitted model takes another price, or a budget, without a new fit.
for name, other in {
    "0.02 each": model.at(feature_cost=0.02),
    "at most two": model.with_budget(2),
}.items():
    n_bought = other.acquire(test).sum(axis=1).mean()
    print(f"{name}: {n_bought:.1f} bought, accuracy {other.score(test, y_test):.3f}")

# %%
# **The answer.** The curve says it: after the first few measurements each further one buys
# little.
