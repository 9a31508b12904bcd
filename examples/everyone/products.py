"""
Variables that say nothing alone
================================

A drug works where an enzyme *and* an inhibitor are high, or both low: their product counts,
and each alone says nothing. A selector of straight lines leaves them out, however many rows
there are.
"""

# %%
# 200 simulated patients, 25 variables: two with straight effects, two that act as a
# product.
import matplotlib.pyplot as plt
import numpy as np

from rlselect import REVS, ActorCriticPredictor

rng = np.random.default_rng(1)
names = np.array(
    ["dose", "age", "weight", "enzyme", "inhibitor", *(f"marker {i}" for i in range(1, 21))]
)
X = rng.standard_normal((200, len(names)))
response = (
    X[:, 0] - 0.7 * X[:, 1] + 1.2 * X[:, 3] * X[:, 4] + 0.4 * rng.standard_normal(200)
)

linear = REVS(random_state=0).fit(X, response)
print("REVS:", ", ".join(names[linear.support_]))

# %%
# The Actor-Critic-Predictor tosses a coin for every variable, lets a predictor judge the
# subsets that come up, and learns the probabilities of the coins. It begins with straight
# lines, and lets a kernel lead if that predicts better.
policy = ActorCriticPredictor(random_state=0).fit(X, response)
print("ActorCriticPredictor:", ", ".join(names[policy.support_]))
print(f"led by the {policy.predictor_.name} predictor, {policy.n_fits_:,} subsets judged")

# %%
# How the probabilities were learnt: all start alike, and those of the four variables go to
# one.
from rlselect.subset import ThetaDisplay

ThetaDisplay.from_estimator(policy)

# %%
# What is it good for? New patients:
fresh = rng.standard_normal((500, len(names)))
truth = fresh[:, 0] - 0.7 * fresh[:, 1] + 1.2 * fresh[:, 3] * fresh[:, 4]
for model in (linear, policy):
    print(f"{type(model).__name__}: R² for new patients {model.score(fresh, truth):.2f}")
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True)
for ax, model in zip(axes, (linear, policy), strict=True):
    ax.plot(model.predict(fresh), truth, ".", alpha=0.5)
    ax.axline((0, 0), slope=1, color="0.5")
    ax.set(title=type(model).__name__, xlabel="predicted")
axes[0].set_ylabel("true response")

# %%
# **The answer.** All four. Three variables that matter only together are found too, among
# up to 200: :doc:`third_order`.
