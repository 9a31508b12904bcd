"""
Counts with too many zeros
==========================

Accidents, claims and visits are counts, and most of them are zero. Poisson's law says how
many zeros there should be; if cases differ in ways nobody has measured, there are more, and
large counts too. A selector that believes in Poisson's law then finds a reason for each of
them.
"""

# %%
# 600 simulated policies with 40 variables. Three of them matter; a hidden, random liability
# of each driver does the rest.
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from sklearn.linear_model import PoissonRegressor

from rlselect import REVS

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 40))
mean = np.exp(-0.2 + 0.6 * X[:, 0] - 0.5 * X[:, 1] + 0.4 * X[:, 2])
claims = rng.poisson(mean * rng.gamma(0.7, 1 / 0.7, size=600))
print(f"{(claims == 0).mean():.0%} without a claim, the largest number is {claims.max()}")

# %%
# ``family="poisson"`` looks whether the counts are more spread than that, and says what it
# has found.
model = REVS(family="poisson", random_state=0).fit(X, claims)
print(f"{model.family_}, overdispersion {model.overdispersion_:.2f}")
print("selected:", ", ".join(model.get_feature_names_out()))

# %%
# What the two laws say about zeros, at the means that were fitted:
fitted, spread = model.predict(X), model.overdispersion_
numbers = np.arange(9)
figure, ax = plt.subplots()
ax.bar(numbers, [(claims == k).mean() for k in numbers], color="0.8", label="seen")
ax.plot(
    numbers,
    [stats.poisson.pmf(k, fitted).mean() for k in numbers],
    "C1o--",
    label="Poisson",
)
shape = 1 / spread
told = [stats.nbinom.pmf(k, shape, shape / (shape + fitted)).mean() for k in numbers]
ax.plot(numbers, told, "C0o-", label=f"negative binomial, overdispersion {spread:.1f}")
ax.set(xlabel="claims of a policy", ylabel="share of the policies")
ax.legend()

# %%
# What it would cost to believe in Poisson's law: the usual table of a Poisson regression
# calls a variable significant when its coefficient is two standard errors from zero. Of 37
# variables without any effect, two would be expected.
plain = PoissonRegressor(alpha=0, max_iter=1000).fit(X, claims)
columns = np.column_stack([np.ones(600), X])
covariance = np.linalg.inv(columns.T @ (plain.predict(X)[:, None] * columns))
z = plain.coef_ / np.sqrt(np.diag(covariance)[1:])
false = (np.abs(z[3:]) > 1.96).sum()
print(f"significant by Poisson's standard errors: {false} of 37 variables without effect")

# %%
# **The answer.** The three true variables. Where exposures differ (half a year, ten
# thousand kilometres), their logarithm is an ``offset``: :doc:`/howto/weights`.
