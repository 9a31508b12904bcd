"""The datum-wise classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._inputs import make_structure
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._rcpi import PolicyIteration, learn
from rlselect.datumwise._rows import Problem, closed_units, merge_rows

__all__ = ["DatumwiseClassifier"]


class DatumwiseClassifier(ClassifierMixin, BaseEstimator):
    def __init__(
        self,
        *,
        scoring="bins",
        feature_cost=0.01,
        costs=None,
        budget=None,
        cost_budget=None,
        error_costs=None,
        feature_groups=None,
        related=None,
        relation="any",
        unrelated_cost=None,
        prerequisites=None,
        n_bins=5,
        learning=None,
        n_jobs=None,
        random_state=None,
    ):
        self.scoring = scoring
        self.feature_cost = feature_cost
        self.costs = costs
        self.budget = budget
        self.cost_budget = cost_budget
        self.error_costs = error_costs
        self.feature_groups = feature_groups
        self.related = related
        self.relation = relation
        self.unrelated_cost = unrelated_cost
        self.prerequisites = prerequisites
        self.n_bins = n_bins
        self.learning = learning
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learn a policy."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        keep = weights > 0
        X, y, weights = X[keep], y[keep], weights[keep]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds 1 class ({self.classes_[0]!r}); a classifier needs at least 2 classes")
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
        self._structure = make_structure(self, names, len(self.classes_))
        self._encoder = make_encoder(self.scoring, self.n_bins).fit(X, weights)
        problem = Problem(
            self._structure,
            self._encoder,
            self._encoder.encode(X),
            closed_units(X, self._structure, sparse.issparse(X)),
            labels,
            weights,
        )
        settings = self.learning or PolicyIteration()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        learned = learn(merge_rows(problem), settings, rng, self.n_jobs)
        self._policy = learned.policy
        self.history_ = learned.history
        self.value_ = learned.value
        return self

    def _episodes(self, X: Any) -> tuple[NDArray, Episodes]:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        codes = self._encoder.encode(X)
        return codes, self._policy.run(codes, closed_units(X, self._structure))

    def predict(self, X):
        """The class that each case ends with."""
        answer = self._episodes(X)[1].answer
        return self.classes_[answer]

    def predict_proba(self, X):
        """Class probabilities, from what each case bought."""
        codes, episodes = self._episodes(X)
        return self._policy.probabilities(codes, episodes.bought)

    def acquire(self, X):
        """Which features each case buys: rows x features."""
        bought = self._episodes(X)[1].bought
        return self._structure.shown(bought)

    def acquisition_order(self, X):
        """Names of the features or groups that each case buys, in order."""
        episodes = self._episodes(X)[1]
        names = self._structure.names
        return [[names[u] for u in row if u >= 0] for row in episodes.order]

    def cost(self, X):
        """What the purchases of each case cost."""
        return self._episodes(X)[1].cost

    def sparsity(self, X):
        """Mean share of the features (groups) that are not bought."""
        return 1.0 - float(self._episodes(X)[1].bought.mean())
