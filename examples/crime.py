"""Which variables go with violent crime in US communities? Select on one half, check on the other."""

import numpy as np
from sklearn.linear_model import LinearRegression

from rlselect import REVS
from rlselect.datasets import load_crime

crime = load_crime()
rows = np.random.default_rng(0).permutation(len(crime.target))
select, check = rows[:1000], rows[1000:]

model = REVS(random_state=0).fit(crime.frame.take(select), "target")
print(model.summary())

# The other half took no part in the selection: its score, and a refit on it, are honest.
others, target = crime.frame.take(check), crime.target[check]
print(f"R² on the {len(check)} other communities: {model.score(others, target):.2f}")
refit = LinearRegression().fit(model.transform(others), target)
print(f"\n{'Coefficient':24}   here  there")
columns = model.support_[model.encoder_.column_feature_]
for name, here, there in zip(model.get_feature_names_out(), model.coef_[columns], refit.coef_, strict=True):
    print(f"{name:24}{here:7.2f}{there:7.2f}")
