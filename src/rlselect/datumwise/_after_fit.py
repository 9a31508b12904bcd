"""What can be changed after a fit without learning anew: prices, budgets, what is known from the start."""

import copy
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect._options import check_value, whole
from rlselect.data import read_vectors
from rlselect.datumwise._export import policy_page, policy_values
from rlselect.datumwise._filled_prices import fill_prices
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._read_rules import PRICE, place_of_unit, read_prices
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._tree import QuestionNode

__all__ = ["AfterFit"]

# Mean prices of a frontier, as shares of what the worst answer costs more than the best, or of a variance.
_PRICES = np.geomspace(3e-4, 0.3, 16)

# Halvings of the range in which the right price is looked for.
_HALVINGS = 18

# A limit for each case has to make answers cheaper by this share of what one costs with nothing known.
_CLEARLY = 0.05


class AfterFit:
    """Methods of a fitted estimator that give another one with the same policy under other rules."""

    feature_cost: float
    costs: Any
    budget: int | None
    cost_budget: float | None
    _fitted: FittedPurchases
    _first_questions: list[QuestionNode] | None

    def at(
        self,
        *,
        feature_cost: float | None = None,
        costs: Mapping[Any, float] | ArrayLike | None = None,
        known: Iterable[Any] | None = None,
    ) -> Self:
        """The same estimator at other prices, without a new fit.

        Networks have learned all prices at once and take the one that earned most on the rows left out of
        their training; problems that were solved exactly are solved again. Bins and lines only change what
        the next purchase costs, so fit again for prices far from theirs.

        Parameters
        ----------
        feature_cost, costs : optional
            Prices as in the constructor. If one is given, the other counts as not given; with neither,
            prices stay.
        known : iterable, optional
            Features (groups) whose values are there from the start, free of charge.

        Returns
        -------
        DatumwiseClassifier or DatumwiseRegressor
            Fitted. Its `inclusion_`, `support_`, `ranking_`, `value_`, `path_` and `summary` still tell of
            the prices of the fit; `report` with cases tells of these.

        Examples
        --------
        >>> import numpy as np
        >>> from rlselect import DatumwiseClassifier
        >>> X = np.random.default_rng(0).integers(0, 2, size=(300, 3))
        >>> y = np.where(X[:, 0] == 1, X[:, 1], X[:, 2])
        >>> model = DatumwiseClassifier(random_state=0).fit(X, y)
        >>> model.sparsity(X), model.at(feature_cost=0.9).sparsity(X)
        (0.333..., 1.0)
        """
        check_is_fitted(self)
        self._refuse_promise("at")
        rules, params = self._fitted.rules, {}
        thrift = None
        if feature_cost is not None or costs is not None:
            price = 0.01 if feature_cost is None else feature_cost
            check_value("feature_cost", price, PRICE)
            rules = replace(self._own_rules, prices=read_prices(costs, price, rules.names))
            params, thrift = {"feature_cost": price, "costs": costs}, 1.0
        free = None
        if known is not None:
            names = [known] if isinstance(known, str) else list(known)
            free = np.array([place_of_unit(name, rules.names, "known") for name in names], dtype=np.intp)
        return self._with(self._fitted.at(rules, thrift, free), **params)

    def with_budget(self, budget: int | None) -> Self:
        """The same estimator with another number of purchases at most, without a new fit.

        Parameters
        ----------
        budget : int or None
            Most purchases per case; None sets no limit.

        Returns
        -------
        DatumwiseClassifier or DatumwiseRegressor
            Fitted, see `at`.
        """
        check_is_fitted(self)
        self._refuse_promise("with_budget")
        if budget is not None:
            (budget,) = self._read_budgets([budget])
        return self._with(self._fitted.at(replace(self._fitted.rules, budget=budget)), budget=budget)

    def with_mean_cost(self, mean_cost: float, X: Any) -> Self:
        """The same estimator, as thrifty as it must be to spend so much on average.

        Before the first purchase all cases are alike: at a price that is too high for it none buys anything,
        at a lower one all do, and some more. Between the two, `mean_cost` is spent better as the most that
        any case may spend, which is done wherever answers are then expected to cost clearly less.

        Parameters
        ----------
        mean_cost : float
            Mean cost of the purchases of a case, errors not included.
        X : (n, d) array, sparse matrix or data frame
            Cases like those to come, without classes.

        Returns
        -------
        DatumwiseClassifier or DatumwiseRegressor
            Fitted, see `at`. The prices are those of this one; it chooses as if they were higher or lower,
            or spends at most so much on each case.
        """
        check_is_fitted(self)
        self._refuse_promise("with_mean_cost")
        check_value("mean_cost", mean_cost, PRICE)
        rules = self._own_rules
        if rules.prices.max() <= 0:
            raise ValueError(
                "with_mean_cost needs prices, but all features are free; give them by at(costs=...)."
            )
        middle = _middle(rules)
        low, high = np.log(1e-6 * middle), np.log(1e6 * middle)
        for _ in range(_HALVINGS):
            half = (low + high) / 2
            spent = float(self._fitted.at(rules, float(np.exp(half))).episodes(X)[1].cost.mean())
            low, high = (low, half) if spent <= mean_cost else (half, high)
        found = self._fitted.at(rules, float(np.exp(high)))
        if rules.unrelated is None and (rules.cost_budget is None or mean_cost < rules.cost_budget):
            found = _best_within(found, replace(rules, cost_budget=mean_cost), X)
        return self._with(found)

    def frontier(
        self, X: Any, y: Any, sample_weight: Any = None, *, budgets: Sequence[int] | None = None
    ) -> dict[str, NDArray]:
        """How good answers are against what is bought, from one fit.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Cases, best ones that took no part in `fit`.
        y : (n,) array or str
            Their classes or numbers, or the name of their column.
        sample_weight : (n,) array or str, optional
            Weights of the cases.
        budgets : sequence of int, optional
            Numbers of purchases at most that are tried at each price, beside that of this estimator. Where
            about two purchases are wanted, two for every case can be better than one for some and three for
            others.

        Returns
        -------
        dict of arrays
            One entry per price, from low to high, and more of them where purchases fall steeply between two:
            ``setting``, the mean price by which it chooses; ``sparsity``; ``cost``, of the purchases of a
            case at the prices of this estimator; ``accuracy`` and ``confidence``, the mean probability of
            the answer; of a regressor instead ``r2``, and ``expected``, what the answers themselves take it
            to be. With `budgets` the prices come again for each of them, and ``budget`` is the most that a
            case buys. `FrontierDisplay` draws it.
        """
        check_is_fitted(self)
        self._refuse_promise("frontier")
        given = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        labels, weights = np.asarray(given["y"]), given["sample_weight"]
        rules = self._own_rules
        spread = rules.spread
        if rules.prices.max() <= 0:
            rules = replace(rules, prices=np.ones(rules.n_units))
        rows = []
        for limit in [rules.budget, *self._read_budgets(budgets)]:
            limited = replace(rules, budget=limit)
            most = {} if budgets is None else {"budget": rules.n_units if limit is None else limit}

            def play(price: float, limited: PurchaseRules = limited) -> tuple[float, dict[str, float]]:
                fitted = self._fitted.at(limited, price / float(limited.prices.mean()))
                means = self._mean_outcome(fitted, X, labels, weights)
                return means["sparsity"], means

            rows += [{"setting": p, **most, **means} for p, means in fill_prices(spread * _PRICES, play)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _mean_outcome(
        self, fitted: FittedPurchases, X: Any, labels: NDArray, weights: NDArray | None
    ) -> dict[str, float]:
        """What cases buy, spend and are answered on average, as a frontier has it."""
        codes, episodes = fitted.episodes(X)
        paid = episodes.paid.sum(axis=1) / fitted.rules.n_units
        spent = episodes.cost if self._fitted.rules.prices.max() > 0 else np.zeros(len(paid))
        judged = self._judge(fitted, codes, episodes, labels, weights)
        values = {"sparsity": 1 - paid, "cost": spent, **judged}
        return {name: float(np.average(v, weights=weights)) for name, v in values.items()}

    @property
    def _own_rules(self) -> PurchaseRules:
        """The rules without the limit that `with_mean_cost` may have set."""
        return replace(self._fitted.rules, cost_budget=self.cost_budget)

    def _read_budgets(self, budgets: Sequence[int] | None) -> list[int]:
        """Budgets, no larger than what there is to buy."""
        for budget in budgets or ():
            check_value("budget", budget, whole(0, "None or an integer of at least 0"))
        return [min(int(budget), self._fitted.rules.n_units) for budget in budgets or ()]

    @abstractmethod
    def _judge(
        self,
        fitted: FittedPurchases,
        codes: NDArray,
        episodes: Episodes,
        labels: NDArray,
        weights: NDArray | None,
    ) -> dict[str, NDArray]:
        """How good the answers of some cases are, as columns of a frontier, one value per case."""

    def export(self, path: str | PathLike[str], title: str = "Questions") -> None:
        """Write the policy as a web page that asks one question at a time, or as JSON.

        The page works offline and on a phone: it holds the policy and a program that plays it as `start`.

        Parameters
        ----------
        path : str or path
            File to write: ``.html`` or ``.json``.
        title : str, default="Questions"
            Title of the page.
        """
        check_is_fitted(self)
        target = Path(path)
        if target.suffix not in (".html", ".json"):
            raise ValueError(f"path={str(path)!r} was given; it must end in .html or .json.")
        page = target.suffix == ".html"
        text = policy_page(self._fitted, title) if page else json.dumps(policy_values(self._fitted))
        target.write_text(text, encoding="utf-8")

    def _refuse_promise(self, what: str) -> None:
        """Refuse changes that a promise about errors would not survive."""
        if self._fitted.promise is not None:
            raise ValueError(
                f"{what} was called after with_max_error, whose promise holds for the purchases that it was "
                f"made with; call {what} first, and with_max_error last."
            )

    def _with(self, fitted: FittedPurchases, **params: Any) -> Self:
        out = copy.copy(self)
        # what the training rows are asked has changed as well
        out._fitted, out._first_questions = fitted, None
        for name, value in params.items():
            setattr(out, name, value)
        return out


def _best_within(found: FittedPurchases, limited: PurchaseRules, X: Any) -> FittedPurchases:
    """What was found or, if its answers are clearly better, the best of some prices within a limit.

    How good answers are is told by their probabilities, as the cases have no classes.
    """
    shares = found.policy.probabilities(*_ends(found, X, nothing=True))
    now, ideal = found.rules.answer_costs(shares)
    best, least = found, _answers_cost(found, X) - _CLEARLY * float((now - ideal).mean())
    for price in _PRICES[::2]:
        other = found.at(limited, float(price * _middle(limited)))
        cost = _answers_cost(other, X)
        if cost < least:
            best, least = other, cost
    return best


def _answers_cost(fitted: FittedPurchases, X: Any) -> float:
    """What an answer to the cases of a table is expected to cost."""
    shares = fitted.policy.probabilities(*_ends(fitted, X))
    return float(fitted.rules.answer_costs(shares)[0].mean())


def _ends(fitted: FittedPurchases, X: Any, nothing: bool = False) -> tuple[NDArray, NDArray]:
    """Codes of the cases of a table, and what each has bought in the end, or nothing."""
    codes, episodes = fitted.episodes(X)
    return codes, episodes.bought & (not nothing)


def _middle(rules: PurchaseRules) -> float:
    """How many times the prices the spread of the losses is."""
    mean = float(rules.prices.mean())
    return rules.spread / mean if mean > 0 else 1.0
