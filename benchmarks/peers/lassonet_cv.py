"""LassoNet (a network whose hidden units may use a column only as far as a linear skip does), lambda by CV.

Five folds, one hidden layer of 32 units, a path in steps of 5 %, and otherwise its defaults.
"""

import numpy as np

from peers._criteria import standardised
from peers._lasso_ic import order

NAME = "LassoNet, CV"
FAMILIES = ("gaussian", "binomial", "multinomial")
HIDDEN = 32
STEP = 1.05


def available():
    try:
        import lassonet
        import torch  # noqa: F401
    except ImportError:
        return False
    return hasattr(lassonet, "LassoNetRegressorCV")


def select(X, y, family, *, seed):
    return np.asarray(_fit(X, y, family, seed, cv=5).best_selected_, dtype=bool)


def rank(X, y, family, *, seed):
    """By the lambda at which a column leaves the path; no cross-validation is needed for it."""
    return order(np.asarray(_fit(X, y, family, seed, cv=None).feature_importances_))


def _fit(X, y, family, seed, cv):
    import lassonet
    import torch

    torch.set_num_threads(1)
    kind = "Regressor" if family == "gaussian" else "Classifier"
    shared = {
        "hidden_dims": (HIDDEN,),
        "path_multiplier": STEP,
        "verbose": 0,
        "random_state": seed,
        "torch_seed": seed,
    }
    X = standardised(X).astype(np.float32)
    if family == "gaussian":
        y = ((y - y.mean()) / y.std()).astype(np.float32)
    if cv is None:
        model = getattr(lassonet, f"LassoNet{kind}")(**shared)
        model.path(X, y, return_state_dicts=False)
        return model
    return getattr(lassonet, f"LassoNet{kind}CV")(cv=cv, **shared).fit(X, y)
