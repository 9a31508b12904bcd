"""
A rule that fits on a card
==========================

A learnt regime may be any function of the history. On a ward, it has to be a few questions.
How much is lost by that, and when is a treatment that costs more worth it?
"""

# %%
# A simulated trial of one stage with 600 patients. The new drug helps those with high
# markers who are not too old; for others it does harm.
import matplotlib.pyplot as plt
import numpy as np

from rlselect import QLearning, TrialData
from rlselect.regimes import PolicyTreeDisplay

rng = np.random.default_rng(1)
n = 600
marker, age = rng.gamma(4.0, 10.0, n), rng.uniform(20, 90, n)
others = {f"lab {k}": rng.standard_normal(n) for k in range(1, 5)}
gain = np.where((marker > 30) & (age < 65), 1.0, -0.6)
drug = rng.choice(["new", "old"], n)
score = (
    np.where(drug == "new", gain, -gain) + 0.01 * (50 - age) + 0.8 * rng.standard_normal(n)
)
columns = {"marker": marker, "age": age, **others, "drug": drug, "score": score}
history = ["marker", "age", *others]
trial = TrialData.from_wide(
    columns,
    [{"history": history, "action": "drug", "reward": "score", "propensity": "1:1"}],
)
learner = QLearning(random_state=0).fit(trial)
print("decides:", ", ".join(learner.tailoring_[0]))

# %%
# The best tree of two questions, found by trying all of them.
tree = learner.policy_tree(depth=2)
print(tree)
PolicyTreeDisplay.from_tree(tree)

# %%
# If the new drug costs something, in units of the score, fewer should get it.
prices = [0.0, 0.4, 0.8, 1.2, 1.6, 2.0]
shares, values = [], []
for price in prices:
    priced = learner.policy_tree(depth=2, costs={"new": price})
    shares.append(np.mean(priced.predict(trial, stage=1) == "new"))
    values.append(priced.value_.value)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
left.plot(prices, shares, "o-")
left.set(xlabel="price of the new drug", ylabel="share who get it", ylim=(0, 1))
right.plot(prices, values, "o-")
right.set(xlabel="price of the new drug", ylabel="value, net of the price")

# %%
# **The answer.** Two questions, the marker and the age, nearly at the points where the
# truth turns.
