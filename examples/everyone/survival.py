"""
Who is at risk, and when?
=========================

Times until an event are often cut off: the study ends, or somebody moves away. The Cox
model takes both, whether it was seen and until when. 400 simulated patients with 30
measurements, three of which change the risk; a third of them leave before anything has
happened.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rlselect import REVS

rng = np.random.default_rng(3)
patients = pd.DataFrame(
    rng.normal(size=(400, 30)), columns=[f"protein {j}" for j in range(30)]
)
risk = (
    0.9 * patients["protein 3"]
    - 0.6 * patients["protein 11"]
    + 0.4 * patients["protein 20"]
)
until = 4 * rng.weibull(1.3, size=400) * np.exp(-risk / 1.3)
left = rng.uniform(1, 10, size=400)
patients["years"] = np.minimum(until, left)
patients["relapse"] = until <= left

# %%
# The target is a pair of columns, the time and whether it ended with an event.
train, test = patients[:300], patients[300:]
model = REVS(random_state=0).fit(train, ("years", "relapse"))
print(
    model.family_,
    dict(
        zip(
            model.get_feature_names_out(), model.coef_[model.support_].round(2), strict=True
        )
    ),
)
print(
    f"concordance for the other 100 patients: {model.score(test, ('years', 'relapse')):.2f}"
)

# %%
# ``predict`` gives the log of the relative risk and ``predict_survival_function`` whole
# curves. Those of three patients of low, middle and high risk, and what has become of the
# thirds of the other patients that they stand for:
times = np.linspace(0.05, 8, 60)
scores = model.predict(test)
figure, ax = plt.subplots()
for k, (part, name) in enumerate(
    zip(np.array_split(np.argsort(scores), 3), ("low", "middle", "high"), strict=True)
):
    typical = test.iloc[[part[len(part) // 2]]]
    ax.plot(
        times,
        model.predict_survival_function(typical, times=times)[0],
        f"C{k}",
        label=f"{name} risk, predicted",
    )
    group = test.iloc[part].sort_values("years")
    at_risk = np.arange(len(group), 0, -1)
    share = np.cumprod(1 - group["relapse"] / at_risk)
    ax.step(
        np.r_[0, group["years"]],
        np.r_[1, share],
        f"C{k}:",
        where="post",
        label=f"{name} risk, seen",
    )
ax.set(xlabel="years", ylabel="share without a relapse", xlim=(0, 8), ylim=(0, 1))
ax.legend()

# %%
# **The answer.** Proteins 3, 11 and 20, and nothing else. Late entry, strata and ties are
# told in :doc:`/howto/survival`.
