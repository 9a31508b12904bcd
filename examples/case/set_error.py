"""
Answers that are wrong in at most one case of twenty
====================================================

Probabilities of a model may be off. If one has to promise how many answers are wrong, let
the model stay silent where it is not sure: rows that took no part in the fit say how sure
is sure enough.
"""

# %%
# Hand-written threes, fives, eights and nines: 300 teach, 250 set the promise, and the
# others check it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rlselect import DatumwiseClassifier

digits = load_digits()
some = np.isin(digits.target, [3, 5, 8, 9])
rows = np.random.default_rng(0).permutation(np.flatnonzero(some))
X, y = digits.data[rows], digits.target[rows].astype(str)
teach, promise, check = slice(0, 300), slice(300, 550), slice(550, None)

pixels = np.arange(64).reshape(8, 8)
corners = [(i, j) for i in range(0, 8, 2) for j in range(0, 8, 2)]
blocks = {
    f"{i} down, {j} right": pixels[i : i + 2, j : j + 2].ravel().tolist()
    for i, j in corners
}
model = DatumwiseClassifier(
    scoring="bins", feature_groups=blocks, feature_cost=0.01, random_state=0
)
model.fit(X[teach], y[teach])
wrong = np.mean(model.predict(X[check]) != y[check])
print(f"without a promise {wrong:.1%} of the answers are wrong")

# %%
# With a promise. It holds with probability .9 over the choice of the rows that set it,
# whatever the probabilities of the model are worth.
rates = [0.05, 0.08, 0.12]
answered, errors = [], []
for rate in rates:
    careful = model.with_max_error(rate, X[promise], y[promise])
    decided = careful.decided(X[check])
    answered.append(decided.mean())
    errors.append(np.mean(careful.predict(X[check])[decided] != y[check][decided]))
    seen = f"{answered[-1]:.0%} answered, {errors[-1]:.1%} of these wrong"
    print(f"at most {rate:.0%} wrong: {seen}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5))
places = np.arange(len(rates))
left.bar(places, answered)
left.set(title="share of cases that get an answer", ylim=(0, 1))
right.bar(places, errors, label="seen")
right.plot(places, rates, "C1_", markersize=40, markeredgewidth=3, label="promised")
right.set(title="share of answers that are wrong", ylim=(0, 0.15))
right.legend(loc="upper left", markerscale=0.3)
for ax in (left, right):
    ax.set_xticks(places, [f"{rate:.0%}" for rate in rates])
    ax.set_xlabel("promise")

# %%
# **The answer.** ``with_max_error``. The stricter the promise, the more cases go to
# somebody who looks closer; with ``buy_more=True`` the model looks closer itself before it
# gives up. 250 rows cannot show less than a few percent.
