"""
Which measurements tell three wines apart?
==========================================

178 wines from three growers, 13 chemical measurements. With three classes or more, each
variable has one coefficient per class, and enters with all of them or none.
"""

# %%
# Five of the measurements already tell the wines apart without an error, so that
# coefficients could grow for ever. The fit says so with a warning and shrinks them; here it
# is expected.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from rlselect import REVS

warnings.filterwarnings("ignore", message="separation")
wine = load_wine(as_frame=True)
grower = wine.target.map({0: "grower A", 1: "grower B", 2: "grower C"})
model = REVS(random_state=0).fit(wine.data, grower)
print(model.family_)
print(model.summary().dict["answer"])

# %%
# Coefficients are those of a refit on the selected variables. Per standard deviation they
# can be compared: what speaks for a grower is red, what speaks against it blue.
chosen = model.support_
effects = model.coef_[:, chosen] * wine.data.std().to_numpy()[chosen]
figure, ax = plt.subplots(figsize=(7, 3))
limit = np.abs(effects).max()
image = ax.imshow(effects, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
ax.set_xticks(range(chosen.sum()), model.get_feature_names_out(), rotation=20)
ax.set_yticks(range(3), model.classes_)
for (row, column), value in np.ndenumerate(effects):
    ax.text(
        column,
        row,
        f"{value:+.1f}",
        ha="center",
        va="center",
        color="k" if abs(value) < limit / 2 else "w",
    )
figure.colorbar(image, label="log odds per sd")

# %%
# The selection is part of the model, so it belongs inside of the folds. The family is named
# here, so that scikit-learn knows before the fit that these are classes, and mixes them
# into every fold.
folds = cross_val_score(REVS(family="multinomial", random_state=0), wine.data, grower, cv=3)
print(f"accuracy, 3 folds: {folds.mean():.2f}")

# %%
# **The answer.** Five measurements of thirteen; two of them have near copies among the
# others that would do as well. Where the classes have an order, :doc:`grades` needs fewer
# coefficients.
