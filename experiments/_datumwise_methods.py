"""The methods of the datum-wise experiments: ours at several prices or budgets, and the three peers."""

import time

from rlselect.datumwise import DatumwiseClassifier
from rlselect.datumwise._peers import PEERS as LIBRARY_PEERS

PRICES = (0.002, 0.007, 0.015, 0.03, 0.05, 0.08, 0.13)
PEERS = tuple(LIBRARY_PEERS[name] for name in ("cart", "l1-svm", "lars"))


class Datumwise:
    """DatumwiseClassifier at several prices, everything else as it comes."""

    def __init__(self, prices=PRICES, name="datum-wise", **options):
        self.prices, self.name, self.options = prices, name, options

    def settings(self, X, y):
        return list(self.prices)

    def fit(self, X, y, setting, seed):
        options = {"feature_cost": setting, "random_state": seed, "scoring": "bins"} | self.options
        model = DatumwiseClassifier(**options).fit(X, y)
        return lambda rows: (model.predict(rows), model.acquire(rows))


class Paper(Datumwise):
    """The algorithm of the paper at several prices."""

    def __init__(self, prices=PRICES, name="paper()"):
        super().__init__(prices, name)

    def fit(self, X, y, setting, seed):
        model = DatumwiseClassifier.paper(setting, random_state=seed).fit(X, y)
        return lambda rows: (model.predict(rows), model.acquire(rows))


class OneFit:
    """DatumwiseClassifier fitted once; its settings are prices after the fit."""

    def __init__(self, prices, name, **options):
        self.prices, self.name, self.options = prices, name, options

    def settings(self, X, y):
        start = time.process_time()
        self.model = DatumwiseClassifier(**self.options).fit(X, y)
        self.seconds = time.process_time() - start
        return [float(price) for price in self.prices]

    def fit(self, X, y, setting, seed):
        model = self.model.at(feature_cost=setting)
        return lambda rows: (model.predict(rows), model.acquire(rows))


class HardBudget:
    """DatumwiseClassifier with free features and a budget (Section 6.3.1 of the paper)."""

    def __init__(self, budgets=(2, 5, 10, 20), name="hard budget", **options):
        self.budgets, self.name, self.options = budgets, name, options

    def settings(self, X, y):
        return [b for b in self.budgets if b < X.shape[1]]

    def fit(self, X, y, setting, seed):
        return Datumwise(budget=setting, **self.options).fit(X, y, 0.0, seed)
