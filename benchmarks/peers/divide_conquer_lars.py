"""Divide and conquer lasso (400 folds, 80 % of the votes), lambda by BIC on scikit-learn's least-angle path.

`LassoLarsIC` is what scikit-learn has for a lasso by BIC, and what `DivideAndConquer` is given on such data.
Fitted on a few folds and scaled up, as its sisters.
"""

from sklearn.linear_model import LassoLarsIC

from peers.divide_conquer import divide_and_conquer

NAME = "divide and conquer lasso, LARS BIC"
FAMILIES = ("gaussian",)


def available():
    return True


def measure(X, y, family, *, seed):
    return divide_and_conquer(X, y, lambda A, b: LassoLarsIC("bic").fit(A, b).coef_ != 0, seed)
