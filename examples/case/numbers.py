"""
A number, one question at a time
================================

How far will the disease have come in a year? Not every patient needs all ten measurements
for a fair guess.
"""

# %%
# 442 patients with diabetes; a price of .02 means that a value is bought as long as it
# explains more than two hundredths of the variance. The networks are small ones, for a page
# that is made in seconds.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from rlselect import DatumwiseRegressor
from rlselect.datumwise import NetworkTraining

diabetes = load_diabetes(as_frame=True, scaled=False)
train, test, y_train, y_test = train_test_split(
    diabetes.data, diabetes.target.to_numpy(), random_state=0
)
training = NetworkTraining(steps=400, n_members=4, hidden=48)
model = DatumwiseRegressor(feature_cost=0.02, search=training, random_state=0).fit(
    train, y_train
)
bought = model.acquire(test)
n_bought = bought.sum(axis=1).mean()
print(f"R² {model.score(test, y_test):.2f} with {n_bought:.1f} of 10 measurements")

# %%
# One patient. Every question comes with its reason.
session = model.start()
patient = test.iloc[3]
while (question := session.next()) is not None:
    print(f"{question}? {patient[question]:.4g}   {session.explain()}")
    session.tell(patient[question])
print(f"told: {session.result().label:.0f}, happened: {y_test[3]:.0f}")

# %%
# Who is asked what, and what comes of it. Each row is a patient, in order of the
# prediction; what is dark was bought.
guess = model.predict(test)
order = np.argsort(guess)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), width_ratios=[1.2, 1])
left.imshow(bought[order], aspect="auto", cmap="Blues", interpolation="none")
left.set_xticks(range(10), diabetes.feature_names)
left.set(ylabel="patients, from low to high predictions", title="what was bought")
right.plot(guess, y_test, ".")
right.axline((150, 150), slope=1, color="0.6")
right.set(xlabel="predicted", ylabel="progression after a year")

# %%
# The same model at other prices:
curve = model.frontier(test, y_test)
figure, ax = plt.subplots()
ax.plot(10 * (1 - curve["sparsity"]), curve["r2"], "o-")
ax.set(xlabel="measurements per patient", ylabel="R² for other patients")

# %%
# **The answer.** Two or three measurements per patient explain most of what all ten do.
# What networks of full size reach, and a forest beside them, is in :doc:`/datumwise`.
