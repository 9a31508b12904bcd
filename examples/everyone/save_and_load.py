"""
Keep a selection, and use it elsewhere
======================================

A fit that took an hour should be kept; a model that somebody sends should not be able to do
harm. ``save`` writes arrays and JSON under a checksum, and ``load`` runs no code.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import rlselect
from rlselect import REVS

diabetes = load_diabetes(as_frame=True)
model = REVS(random_state=0).fit(diabetes.data, diabetes.target)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "diabetes.rls"
rlselect.save(model, path)
print(f"{path.stat().st_size / 1000:.0f} kB")

# %%
# What comes back answers the same, to the last bit, and knows what it has seen.
loaded = rlselect.load(path)
print(
    "same predictions:",
    np.array_equal(loaded.predict(diabetes.data), model.predict(diabetes.data)),
)
print(loaded.summary().dict["answer"])

# %%
# A file in which a single bit was changed is refused, wherever the bit is:
broken = bytearray(path.read_bytes())
broken[len(broken) // 2] ^= 1
path.write_bytes(broken)
try:
    rlselect.load(path)
except ValueError as error:
    print(error)
folder.cleanup()

# %%
# The loaded model draws pictures like the one that was saved: predictions with their
# intervals, for twenty patients.
some = diabetes.data.iloc[:20]
low, high = loaded.predict_interval(some, level=0.9).T
figure, ax = plt.subplots()
ax.errorbar(
    range(20),
    (low + high) / 2,
    yerr=(high - low) / 2,
    fmt="none",
    capsize=3,
    label="90 % interval",
)
ax.plot(range(20), diabetes.target[:20], "C1o", label="what happened")
ax.set(xlabel="patient", ylabel="progression of the disease")
ax.legend()

# %%
# **The answer.** ``rlselect.save`` and ``rlselect.load``, for every estimator of the
# library: :doc:`/howto/save`.
