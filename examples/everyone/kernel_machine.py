"""
Which features does a kernel machine need?
==========================================

A kernel machine bends wherever the data ask for it, and uses all features it is given.
``RiskRFE`` lets them go one by one: at each step the feature leaves without which the
machine can explain the data best.
"""

# %%
# 200 simulated rows, ten features. The response is a curve of the first two; no straight
# line follows it.
import matplotlib.pyplot as plt
import numpy as np

from rlselect import RiskRFE
from rlselect.simulate import make_rational
from rlselect.subset import ReverseScreeDisplay

X, y, informative = make_rational(200, random_state=0)
model = RiskRFE().fit(X, y)
print(model.summary().dict["answer"])
print("true:", np.flatnonzero(informative), "selected:", np.flatnonzero(model.support_))

# %%
# The picture reads from left to right as features leave. As long as they are noise nothing
# happens; without the second true one the risk jumps. That is where to stop.
ReverseScreeDisplay.from_estimator(model)

# %%
# The same for the diabetes data: how far the disease has come in a year, by ten
# measurements. The numbers are whole, so it has to be said that they are quantities and no
# labels.
from sklearn.datasets import load_diabetes

diabetes = load_diabetes(as_frame=True)
machine = RiskRFE(loss="squared").fit(diabetes.data, diabetes.target)
print(f"{machine.kernel_} kernel: {', '.join(machine.get_feature_names_out())}")
sizes = machine.path_["n_features"]
figure, ax = plt.subplots()
ax.plot(sizes, machine.path_["risk"] / np.var(diabetes.target), "o-")
ax.axvline(machine.n_features_, color="0.6", linestyle="--", label="selected")
ax.invert_xaxis()
ax.set(xlabel="features left", ylabel="leave-one-out risk, share of the variance")
ax.legend()

# %%
# **The answer.** A curve of two features is found where straight lines see nothing; of the
# ten measurements of the diabetes data six are kept, by a kernel that lets each of them
# bend.
