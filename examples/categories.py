"""Claims of car insurance: numbers, categories, gaps and exposures in one data frame."""

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
# The truth: the young, the powerful and the south have more claims; fuel, colour and mileage do not matter.
log_rate = -1.2 - 0.03 * (policies.age - 45) + 0.008 * policies.power + 0.6 * (policies.region == "south")
policies["claims"] = rng.poisson(policies.years * np.exp(log_rate))
policies["offset"] = np.log(policies.pop("years"))
policies.loc[rng.random(n) < 0.1, "power"] = np.nan
# the first category is the reference that the others are compared with
policies["region"] = pd.Categorical(policies.region, ["north", "east", "south", "west"])

model = REVS(family="poisson", missing="indicator", random_state=0)
model.fit(policies, "claims", offset="offset")
print(model.summary())

print("Not selected:", *model.feature_names_in_[~model.support_])
young = policies.assign(age=20.0)
share = model.predict(young, offset="offset").mean() / model.predict(policies, offset="offset").mean()
print(f"If everyone were 20, there would be {share:.1f} times the claims.")
