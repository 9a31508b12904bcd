"""
Three variables that matter only together
=========================================

The parity of three switches: known two of them, nothing is known about the outcome. No
single variable and no pair shows anything; only all three do. How far can one see?
"""

# %%
# 400 rows, 40 switches that are on or off. The outcome is the parity of three of them,
# wrong in one case of ten.
import matplotlib.pyplot as plt
import numpy as np

from rlselect import ActorCriticPredictor

rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], size=(400, 40))
parity = X[:, 4] * X[:, 17] * X[:, 30]
outcome = np.where(
    parity * rng.choice([1, -1], size=400, p=[0.9, 0.1]) > 0, "works", "fails"
)

# %%
# What correlations say, with the outcome as 1 and -1: of single switches, of all 780 pairs
# and of all 9,880 triples.
sign = np.where(outcome == "works", 1.0, -1.0)
by_order = {}
for order in (1, 2, 3):
    products = X
    if order > 1:
        products = np.concatenate([X[:, [i]] * X[:, i + 1 :] for i in range(40)], axis=1)
    if order == 3:
        pairs = [(i, j) for i in range(40) for j in range(i + 1, 40)]
        products = np.concatenate(
            [X[:, [i]] * X[:, [j]] * X[:, j + 1 :] for i, j in pairs], axis=1
        )
    by_order[order] = np.abs(sign @ products) / 400

figure, ax = plt.subplots()
for order, values in by_order.items():
    ax.plot(
        np.full(len(values), order) + rng.uniform(-0.2, 0.2, len(values)),
        values,
        ".",
        markersize=3,
    )
ax.set_xticks([1, 2, 3], ["single", "pairs", "triples"])
ax.set(
    ylabel="absolute correlation with the outcome", title="one triple of 9,880 stands out"
)

# %%
model = ActorCriticPredictor(random_state=0).fit(X, outcome)
print("selected:", np.flatnonzero(model.support_))
print(f"led by the {model.predictor_.name} predictor; {model.stop_reason_}")

# %%
# **The answer.** The three switches. Four that matter only together are out of reach:
# :doc:`/acp` says what was measured.
