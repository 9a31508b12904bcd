"""
Missing values, categories and exposures in one table
=====================================================

Claims of car insurance, as they come: numbers, text, gaps, and policies that were in force
for part of a year. Simulated, so that the truth is known: the young, the powerful and the
south have more claims; fuel, colour and mileage do not matter.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rlselect import REVS

rng = np.random.default_rng(0)
n = 2000
policies = pd.DataFrame(
    {
        "age": rng.uniform(18, 80, n),
        "power": rng.gamma(9.0, 10.0, n),
        "region": rng.choice(["north", "east", "south", "west"], n),
        "fuel": rng.choice(["diesel", "electric", "petrol"], n),
        "colour": rng.choice(["black", "blue", "grey", "red", "white"], n),
        "mileage": rng.gamma(4.0, 3.0, n),
        "years": rng.uniform(0.2, 1.0, n),
    }
)
log_rate = (
    -1.2
    - 0.03 * (policies.age - 45)
    + 0.008 * policies.power
    + 0.6 * (policies.region == "south")
)
policies["claims"] = rng.poisson(policies.years * np.exp(log_rate))
policies["offset"] = np.log(policies.pop("years"))
policies.loc[rng.random(n) < 0.1, "power"] = np.nan
# the first category is the reference that the others are compared with
policies["region"] = pd.Categorical(policies.region, ["north", "east", "south", "west"])

# %%
# A tenth of the powers is missing. They are refused unless one says what to do;
# ``"indicator"`` imputes the mean and adds a mark, which enters or leaves together with its
# variable. So do the categories of a text column.
model = REVS(family="poisson", missing="indicator", random_state=0)
model.fit(policies, "claims", offset="offset")
print(model.summary())

# %%
# Is the model right about the young? Claims per year by age, as seen and as predicted:
policies["predicted"] = model.predict(policies, offset="offset")
bands = pd.cut(policies.age, np.arange(15, 86, 10))
exposure = np.exp(policies.offset).groupby(bands, observed=True).sum()
figure, ax = plt.subplots()
for column, style in (("claims", "C1o"), ("predicted", "C0-")):
    rate = policies[column].groupby(bands, observed=True).sum() / exposure
    ax.plot([interval.mid for interval in rate.index], rate, style, label=column)
ax.set(xlabel="age", ylabel="claims per year", ylim=0)
ax.legend()

# %%
print("Not selected:", *model.feature_names_in_[~model.support_])
young = policies.drop(columns="predicted").assign(age=20.0)
share = model.predict(young, offset="offset").mean() / policies.predicted.mean()
print(f"If everyone were 20, there would be {share:.1f} times the claims.")

# %%
# **The answer.** Age, power and region. ``missing="drop"`` is the other way:
# :doc:`/howto/missing` says when to use which.
