"""
Do two groups differ, in any way, at any time?
==============================================

Means can be the same where whole distributions differ. A Cramér-von Mises test compares all
of it, for measures that were taken repeatedly from the same people.
"""

# %%
# The simulated trial that comes with the package: symptoms on placebo and on the drug, at
# up to eight visits.
import matplotlib.pyplot as plt

from rlselect import two_sample_cvm
from rlselect.datasets import load_simulated_visits
from rlselect.temporal import ECDFDisplay

visits = load_simulated_visits().frame.to_pandas()
test = two_sample_cvm(
    "score", "arm", "patient", "visit", data=visits, n_draws=500, random_state=0
)
print(f"all visits together: p = {test.pvalue:.3f}")
print(test.by_visit)

# %%
# The distributions of all readings, as shares below a score:
ECDFDisplay.from_test(test)

# %%
# By visit: arms are alike at the beginning, as they should be in a randomised trial, and
# part at once.
figure, ax = plt.subplots()
ax.semilogy(test.by_visit.index, test.by_visit["pvalue"], "o-")
ax.axhline(0.05, color="C1", label="0.05")
ax.set(xlabel="visit", ylabel="p-value")
ax.legend()

# %%
# **The answer.** They differ at every visit after the first; :doc:`irregular_visits` tells
# by how much.
