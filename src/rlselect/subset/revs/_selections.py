"""Other selections from the same fit, and how stable selections are."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rlselect._options import check_value, one_of, whole, with_methods
from rlselect._random import RandomState, as_generator
from rlselect.data import load_source, read_responses, read_vectors, require_target
from rlselect.learn import Cutoff, DecisionRule, MostProbable, RuleName, as_rule, read_rule
from rlselect.subset.revs._choices import Choices
from rlselect.subset.revs._outcome_kind import is_survival, survival_parts
from rlselect.subset.revs._prediction import SubsetPredictions
from rlselect.subset.revs._sarsa import Sarsa

RULES = one_of("auto", "f1") | with_methods("a rule such as FalseDiscovery(0.1)", "choose")


class SubsetSelections(SubsetPredictions):
    """A selector whose probabilities can be read by any rule."""

    rule: RuleName | DecisionRule
    search: Any
    responses: str
    random_state: RandomState
    _choices: Choices

    def select(
        self,
        *,
        threshold: float | None = None,
        fdr: float | None = None,
        k: int | None = None,
        rule: RuleName | DecisionRule | None = None,
    ) -> NDArray[np.bool_]:
        """Select features from `inclusion_` by another rule, without a refit.

        Parameters
        ----------
        threshold : float, optional
            Take what has a larger probability.
        fdr : float, optional
            Take the most probable features as long as the expected share of wrong ones is at most this.
        k : int, optional
            Take so many, the most probable ones; features that enter together count as one.
        rule : {"auto", "f1"} or object, optional
            As in the constructor, whose rule is the default.

        Returns
        -------
        bool array of shape (n_features,)
            With a row per response, where each of several has a selection of its own. Features of
            `always_select` are in it by any rule, and those of `never_select` are not.

        Examples
        --------
        >>> from rlselect import REVS
        >>> from rlselect.simulate import make_revs
        >>> data = make_revs(n=60, p=100, structure="block", random_state=0)
        >>> selector = REVS(random_state=0).fit(data.X, data.y)
        >>> [int(selector.select(**rule).sum()) for rule in ({"fdr": 0.1}, {"k": 5}, {"rule": "f1"})]
        [4, 5, 17]
        """
        check_is_fitted(self)
        if rule is not None:
            check_value("rule", rule, RULES)
        asked = read_rule(threshold=threshold, fdr=fdr, k=k, rule=rule)
        named = rule if isinstance(rule, str) else asked
        chosen = self.rule if asked is None or named is None else named
        if isinstance(self.search, Sarsa) and not isinstance(as_rule(chosen), Cutoff | MostProbable):
            raise ValueError(
                "inclusion_ holds how often the paper's search visited a feature, which is no probability: "
                "give threshold or k, or fit with search='auto'."
            )
        if self._has_several and self.responses == "each":
            return np.array([single._choices.features(chosen) for single in self.estimators_])
        return self._choices.features(chosen)

    def stability(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        n_splits: int = 10,
        groups: Any = None,
    ) -> NDArray[np.float64]:
        """How often each feature is selected from a random half of the rows; takes twice `n_splits` fits.

        Every split gives two halves that share no row. What is selected nearly always does not hang on a few
        rows. Shares are no probabilities: half of the rows show less than all of them.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in `fit`; rows of a source are loaded.
        n_splits : int, default=10
            Number of splits.
        groups : array-like of shape (n_samples,) or str, optional
            As in `fit`; clusters stay whole.

        Returns
        -------
        array of shape (n_features,)
            Shares, of several responses those of any. A fit of this selector is not needed, and not changed.

        Examples
        --------
        >>> from rlselect import REVS
        >>> from rlselect.simulate import make_revs
        >>> data = make_revs(n=100, p=50, structure="block", n_nonzero=2, random_state=0)
        >>> REVS(random_state=0).stability(data.X, data.y, n_splits=2)[:4]
        array([1., 1., 0., 0.])
        """
        check_value("n_splits", n_splits, whole(1))
        require_target(y, type(self).__name__)
        X = load_source(X, f"{type(self).__name__}.stability")
        several = None if is_survival(y) else read_responses(X, y)
        single = survival_parts(y)["time"] if is_survival(y) else y if several is None else several.values[0]
        given = read_vectors(X, {"y": single, "sample_weight": sample_weight, "groups": groups})
        n = len(cast(NDArray, given["y"]))
        weight = np.ones(n) if given["sample_weight"] is None else given["sample_weight"]
        rng = as_generator(self.random_state)
        together = (
            None if groups is None else np.unique(cast(NDArray, given["groups"]), return_inverse=True)[1]
        )
        number = np.arange(n) if together is None else together
        chosen = []
        for _ in range(n_splits):
            half = (rng.permutation(int(number.max(initial=-1)) + 1) % 2)[number]
            for side, seed in enumerate(rng.integers(2**31, size=2)):
                part = clone(self).set_params(random_state=int(seed), checkpoint=None)
                chosen.append(part.fit(X, y, weight * (half == side), offset, groups).support_)
        return np.mean(chosen, axis=0)
