"""The stages of a fit: which predictor leads the actor, and on which variables."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, OutOfTime
from rlselect.data import Units
from rlselect.subset.acp._chance import beats_permutations, beats_sets, shapes
from rlselect.subset.acp._inputs import Inputs
from rlselect.subset.acp._likelihood import additions, likeliest, sees_more
from rlselect.subset.acp._order import elimination_order, places
from rlselect.subset.acp._posterior import settle
from rlselect.subset.acp._price import least_prices
from rlselect.subset.acp._screen import (
    addition_score,
    best_of_columns,
    best_pairs,
    best_ranked,
    marginal_score,
    meet_partners,
    product_score,
    projection_score,
    promising,
    surprising_effects,
)
from rlselect.subset.acp._search import SURE_IN, SURE_OUT, Actor, Effort
from rlselect.subset.acp._triples import MOST_COLUMNS, surprising_triples
from rlselect.subset.acp.masked import MaskedKernel, MaskedLinear, MaskedLogistic, MaskedPredictor, Target

Array = NDArray[np.float64]

# more variables than this are screened: to how many, for a linear and for any other predictor
_MANY_LINEAR, _KEEP_LINEAR = 400, 300
_MANY_OTHERS, _KEEP_OTHERS = 100, 60
# batches after which the kernel has to show that it is better than a straight line
_TRIAL = 30
# paired t of the losses: below the first after the trial, or below the second in the end, linear is kept
_DOUBT, _BETTER = 1.5, 3.5
# the same in the end, where products surprise
_SUSPECTED = 2.0
# classes: units that the likelihood may change, and rows beyond which least squares sees as much
_NEAR, _LONG = 60, 5000
# how much of the share of false alarms straight lines may use beside other shapes, and where none is asked
_LINES, _LINES_ALONE = 1 / 2, 9 / 10
# how a search ends that nobody has stopped
_ENDED = ("converged", "max iterations")
# rows in which products of three are looked for
_TRIPLE_ROWS = 2000
# pairs of variables that are introduced to a predictor together
_PAIRS = 64


@dataclass(frozen=True)
class PredictorChoice:
    """The predictor of a fit and why it was chosen.

    Attributes
    ----------
    name : str
        "linear", "logistic", "kernel", "network" or the class of an estimator.
    scores : dict
        Held-out mean squared error (share of the variance of the response that is not explained) or log
        loss of each predictor on the set they were compared on.
    t : float
        Paired t of the squared errors of rows, or (but for classes) of their lengths if that is larger:
        positive where the kernel lost less; NaN when nothing was compared.
    """

    name: str
    scores: dict[str, float] = field(default_factory=dict)
    t: float = float("nan")


@dataclass
class FoundPolicy:
    """What the stages give: theta, places (larger is better) and gains of all units, and how it ended."""

    theta: Array
    places: Array
    gains: Array
    choice: PredictorChoice
    stop_reason: str
    predictor: MaskedPredictor
    price: float
    screened: dict[str, NDArray[np.intp]]
    iterations: int


@dataclass
class Stages:
    """Everything the stages share.

    Attributes
    ----------
    inputs : Inputs
    options : dict
        ``penalty``, ``batch_size`` and ``max_iter`` of every actor.
    screening : {"auto"}, None or int
    false_alarm : float
        Share of pure noise in which something may be selected.
    rng : Generator
    clock : Clock
    effort : Effort
    """

    inputs: Inputs
    options: dict[str, Any]
    screening: Any
    false_alarm: float
    rng: np.random.Generator
    clock: Clock
    effort: Effort
    screened: dict[str, NDArray[np.intp]] = field(default_factory=dict)
    _machine: tuple[bytes, MaskedKernel] | None = None
    _moves: bool | None = None
    _bends: bool = False

    def spread(self, kept: NDArray[np.intp], values: Array, fill: float = 0.0) -> Array:
        """Values of some units as values of all units."""
        out = np.full(self.inputs.units.n_units, fill)
        out[kept] = values
        return out

    def actor(
        self,
        predictor: MaskedPredictor,
        kept: NDArray[np.intp],
        units: Units,
        known: NDArray[np.bool_] | None = None,
        alert: bool = True,
    ) -> Actor:
        """An actor on some units; the predictor sees their columns only."""
        self._bends = self._bends or not predictor.additive
        return Actor(
            predictor,
            units,
            n_variables=len(self.inputs.allowed),
            rng=self.rng,
            clock=self.clock,
            effort=self.effort,
            expand=lambda theta: self.inputs.to_features(self.spread(kept, theta)),
            known=known,
            alert=alert,
            **self.options,
        )

    def _limit(self, many: int, keep: int) -> int | None:
        allowed = len(self.inputs.allowed)
        if self.screening is None:
            return None
        if self.screening == "auto":
            return keep if allowed > many else None
        return int(self.screening) if allowed > self.screening else None

    def screen_linear(self) -> NDArray[np.intp]:
        """Units for a linear predictor."""
        allowed = self.inputs.allowed
        keep = self._limit(_MANY_LINEAR, _KEEP_LINEAR)
        if keep is None:
            return allowed
        columns, units = self.inputs.columns_of(allowed)
        X, Y = self.inputs.X[:, columns], self.inputs.target.Y
        scores = [marginal_score(X, Y), projection_score(X, Y)]
        kept = allowed[best_ranked(scores, units, keep, np.zeros(len(allowed), dtype=bool))]
        self.screened["linear"] = kept
        return kept

    def screen_others(self, name: str, found: NDArray[np.intp]) -> NDArray[np.intp]:
        """Units for a predictor that knows more than straight lines.

        Those a linear actor found stay; the others are ranked by their correlation with the response, by
        products with the residual of the linear model, and by what they add to a kernel machine.
        """
        allowed = self.inputs.allowed
        keep = self._limit(_MANY_OTHERS, _KEEP_OTHERS)
        if keep is None:
            return allowed
        columns, units = self.inputs.columns_of(allowed)
        X, target = self.inputs.X[:, columns], self.inputs.target
        first = np.isin(allowed, found)
        mask = first[units.unit_of]
        residual = self.residual(X, mask)
        some = promising(X, residual, mask)
        products, additions = np.full((2, X.shape[1]), -np.inf)
        with suppress(OutOfTime):  # what is known by then has to do
            products[some] = product_score(X[:, some], residual)
            additions[some] = addition_score(self.machine(X, mask), mask, some)
        scores = [marginal_score(X, target.Y), products, additions]
        self.effort.fits += len(some) + 1
        if self.screening == "auto":
            # few rows cannot tell many variables apart
            keep = min(keep, max(len(X) // 4, int(first.sum()) + 10))
        kept = allowed[best_ranked(scores, units, keep, first)]
        self.screened[name] = kept
        return kept

    def machine(self, X: Array, mask: NDArray[np.bool_]) -> MaskedKernel:
        """A kernel machine on all columns that may be selected, tuned for some of them; kept for the next.

        Both the doubt about straight lines and the screening ask for it, mostly on the same columns.
        """
        key = mask.tobytes()
        if self._machine is None or self._machine[0] != key:
            machine = MaskedKernel(X, self.inputs.target)
            machine.redraw(self.rng)
            machine.tune(mask)
            self._machine = key, machine
        return self._machine[1]

    # ------------------------------------------------------------------ what users choose from

    def linear(self) -> tuple[Actor, NDArray[np.intp], str]:
        """A linear actor, run to its end."""
        kept = self.screen_linear()
        columns, units = self.inputs.columns_of(kept)
        actor = self.actor(MaskedLinear(self.inputs.X[:, columns], self.inputs.target), kept, units)
        return actor, kept, actor.run() or "max iterations"

    def one(self, make: Any, name: str) -> FoundPolicy:
        """One predictor of the user's choice."""
        if name == "linear":
            actor, kept, reason = self.linear()
            return self.finish(actor, kept, PredictorChoice(name), reason)
        kept = self.screen_others(name, np.empty(0, dtype=np.intp))
        columns, units = self.inputs.columns_of(kept)
        actor = self.actor(make(self.inputs.X[:, columns], self.inputs.target), kept, units)
        reason = actor.run() or "max iterations"
        return self.finish(actor, kept, PredictorChoice(name), reason)

    def auto(self) -> FoundPolicy:
        """Linear to the end, a trial of the kernel, and the better of the two to the end."""
        linear, kept, reason = self.linear()
        straight = PredictorChoice("linear")
        if reason not in _ENDED:
            return self.finish(linear, kept, straight, reason)
        stopped = self.clock.tick()
        if stopped is not None:
            return self.finish(linear, kept, straight, stopped)
        try:
            return self._look_beyond(linear, kept, reason)
        except OutOfTime:
            return self.finish(linear, kept, straight, str(self.clock.reason))

    def _look_beyond(self, linear: Actor, kept: NDArray[np.intp], reason: str) -> FoundPolicy:
        """The better of a linear actor, which ended for a reason, and of a kernel's."""
        found = kept[linear.mode]
        surprised: bool | None = None
        triples = self.triples(found)
        if len(triples):
            found, surprised = np.union1d(found, triples), True
        elif self._limit(_MANY_OTHERS, _KEEP_OTHERS) is not None:
            bent, more, surprised = self.suspect(linear, found)
            if not bent.t >= _BETTER and not surprised:
                return self.finish(linear, kept, bent, reason)
            found = more
            stopped = self.clock.tick()
            if stopped is not None:
                return self.finish(linear, kept, bent, stopped)
        candidates = self.screen_others("kernel", found)
        columns, units = self.inputs.columns_of(candidates)
        X, some = self.inputs.X[:, columns], np.isin(candidates, found)
        predictor = MaskedKernel(X, self.inputs.target)
        known = self.introduce(
            predictor, units, some, best_pairs(X, self.residual(X, some[units.unit_of]), _PAIRS)
        )
        kernel = self.actor(predictor, candidates, units, known, alert=not len(triples))
        stopped, choice, hopeful = self.trial(kernel, linear)
        if stopped is None and not (hopeful and choice.t >= _DOUBT):
            # useless ones may have drowned a variable that would show beside those found alone
            known = self.introduce(
                predictor, units, some, np.repeat(np.arange(len(columns))[:, None], 2, axis=1)
            )
            if known[~some].any() and self.compare(predictor, known[units.unit_of], linear).t >= _BETTER:
                kernel = self.actor(predictor, candidates, units, known, alert=False)
                stopped, choice, hopeful = self.trial(kernel, linear)
        if hopeful and choice.t >= _DOUBT and stopped is None:
            # only a set that has paid its price can be compared: a cheap one is chosen to look good
            stopped = kernel.run() or "max iterations"
            choice = self.compare(predictor, kernel.columns(kernel.mode), linear)
        if not (hopeful and self.believes(choice, kept[linear.mode], surprised)):
            final = reason if stopped in (None, *_ENDED) else str(stopped)
            return self.finish(linear, kept, choice, final)
        choice = PredictorChoice("kernel", choice.scores, choice.t)
        return self.finish(kernel, candidates, choice, stopped or "max iterations")

    def trial(self, kernel: Actor, linear: Actor) -> tuple[str | None, PredictorChoice, bool]:
        """A few batches of a kernel's actor: why it stopped, how it compares, and whether it is no noise."""
        stopped = kernel.run(_TRIAL)
        choice = self.compare(kernel.predictor, kernel.columns(kernel.mode), linear)
        # nothing but noise is not worth a long search
        return stopped, choice, self.is_anything(kernel, kernel.mode)

    def believes(self, choice: PredictorChoice, found: NDArray[np.intp], surprised: bool | None) -> bool:
        """Whether a kernel leads by enough: by less where products with the linear residual surprise.

        Parameters
        ----------
        choice : PredictorChoice
            The comparison.
        found : int array
            Units of the linear actor.
        surprised : bool or None
            Whether products have surprised; None has not asked yet.
        """
        if not _SUSPECTED <= choice.t < _BETTER:
            return choice.t >= _BETTER
        return self.surprises(found)[1] if surprised is None else surprised

    def surprises(self, found: NDArray[np.intp]) -> tuple[NDArray[np.intp], bool]:
        """Some units and those with effects that chance does not explain; whether products are among them."""
        allowed = self.inputs.allowed
        columns, units = self.inputs.columns_of(allowed)
        mask = np.isin(allowed, found)[units.unit_of]
        effects = surprising_effects(self.inputs.X[:, columns], self.inputs.target.Y, mask, self.rng)
        return np.unique(allowed[units.unit_of[effects.columns]]), effects.bent

    def triples(self, found: NDArray[np.intp]) -> NDArray[np.intp]:
        """Units of products of three that surprise beside those found and effects of lower order."""
        allowed = self.inputs.allowed
        columns, units = self.inputs.columns_of(allowed)
        if len(columns) > MOST_COLUMNS:
            return np.empty(0, dtype=np.intp)
        X, Y, mask = self.inputs.X[:, columns], self.inputs.target.Y, np.isin(allowed, found)[units.unit_of]
        # a draw of its own: what follows does not depend on whether this was asked
        rng = np.random.default_rng(len(X))
        if len(X) > _TRIPLE_ROWS:
            some = np.sort(rng.permutation(len(X))[:_TRIPLE_ROWS])
            X, Y = X[some], Y[some]
        effects = surprising_effects(X, Y, mask, rng)
        triples = surprising_triples(X, effects.residual)
        self.effort.fits += len(triples)
        return np.unique(allowed[units.unit_of[np.ravel(triples).astype(np.intp)]])

    def suspect(
        self, linear: Actor, found: NDArray[np.intp]
    ) -> tuple[PredictorChoice, NDArray[np.intp], bool]:
        """Reasons to look beyond straight lines: a better kernel on what was found, or surprising products.

        Of many variables some fit any residual, and a kernel machine on the best of them looks better than a
        line whatever the truth is. So they are screened for it only where there is a reason.

        Returns
        -------
        PredictorChoice
            Both predictors on the linear actor's set.
        int array
            That set, and units with effects that chance does not explain.
        bool
            Whether there are products among these effects.
        """
        allowed = self.inputs.allowed
        columns, units = self.inputs.columns_of(allowed)
        X = self.inputs.X[:, columns]
        mask = np.isin(allowed, found)[units.unit_of]
        more, surprised = self.surprises(found)
        if not mask.any():
            return PredictorChoice("linear"), more, surprised
        plain = linear.predictor.row_losses(linear.columns(linear.mode))
        bent = self.machine(X, mask).row_losses(mask)
        return _compared(bent, plain, classes=self.inputs.target.classifies), more, surprised

    def residual(self, X: Array, mask: NDArray[np.bool_]) -> Array:
        """What least squares on some columns leaves of the response."""
        target = self.inputs.target
        fitted = MaskedLinear(X, Target(target.Y, None, target.center, target.scale)).fit(mask)
        return np.asarray(target.Y - fitted.decision(X[:, mask]))  # type: ignore[union-attr]

    def introduce(
        self, predictor: MaskedPredictor, units: Units, known: NDArray[np.bool_], pairs: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Units that were found, and pairs of columns that are worth something together with them."""
        mask = known[units.unit_of]
        predictor.redraw(self.rng)
        predictor.tune(mask)
        n, responses = predictor.n_rows, max(self.inputs.target.n_classes - 1, 1)
        price = float(least_prices(n, len(self.inputs.allowed), responses, 1)[0]) / n
        joined = meet_partners(predictor, mask, pairs, price)
        self.effort.fits += len(pairs)
        return known | np.isin(np.arange(len(known)), units.unit_of[joined])

    def compare(self, predictor: MaskedPredictor, mask: NDArray[np.bool_], linear: Actor) -> PredictorChoice:
        """Paired t of leave-one-out losses: a kernel on some columns against a straight line.

        It has to be better on its own set, and better there than the line is on the line's set, which a set
        with useless members cannot spoil.
        """
        predictor.tune(mask)
        same = MaskedLinear(predictor.X, self.inputs.target).row_losses(mask)
        own = linear.predictor.row_losses(linear.columns(linear.mode))
        return _compared(predictor.row_losses(mask), same, own, classes=self.inputs.target.classifies)

    def nothing(self, make: Any) -> FoundPolicy:
        """The answer when there is nothing to choose from or to explain."""
        predictor = make(self.inputs.X[:, :0], self.inputs.target)
        zeros = np.zeros(self.inputs.units.n_units)
        choice = PredictorChoice(predictor.name)
        missing = np.full(len(zeros), np.nan)
        return FoundPolicy(zeros, zeros, missing, choice, "nothing to choose from", predictor, 0.0, {}, 0)

    def _logistic_sees_more(self, actor: Actor) -> bool:
        target, n = self.inputs.target, len(actor.predictor.X)
        if actor.predictor.name != "linear" or not target.classifies or n > _LONG:
            return False
        return sees_more(n, int(actor.columns(actor.mode).sum()), target.n_classes)

    def reconsider(self, actor: Actor) -> NDArray[np.bool_]:
        """The linear actor's subset after the likelihood of a logistic model was asked.

        First single changes it asks for; then, where few rows leave more than one subset open, what most of
        these have in common.
        """
        hopeful = np.argsort(-actor.mean_theta, kind="stable")[:_NEAR]
        near = np.union1d(hopeful, np.flatnonzero(actor.mode))
        logistic = MaskedLogistic(actor.predictor.X, self.inputs.target)
        self.effort.fits += len(near)
        likely = likeliest(logistic, actor.units, actor.mode, near, actor.n_variables, self.clock)
        larger = additions(logistic, actor.units, likely, near, self.clock)
        return settle(logistic, actor.units, larger, actor.n_variables, self.clock)

    def alone(self) -> Array:
        """How much the response moves with each of all units, along a straight line."""
        allowed = self.inputs.allowed
        columns, units = self.inputs.columns_of(allowed)
        score = marginal_score(self.inputs.X[:, columns], self.inputs.target.Y)
        return self.spread(allowed, best_of_columns(score, units), -1.0)

    def places(
        self, actor: Actor, kept: NDArray[np.intp], mode: NDArray[np.bool_], gains: Array, theta: Array
    ) -> Array:
        """Places of all units, from an actor's subset and what it knows of the others."""
        left, judged = elimination_order(actor.predictor, actor.units, mode, self.rng, self.clock)
        self.effort.fits += judged
        return places(
            self.spread(kept, mode.astype(float)) > 0,
            self.spread(kept, left.astype(float)).astype(np.intp),
            gains,
            self.spread(kept, theta),
            self.alone(),
            straight=actor.predictor.additive,
        )

    def is_anything(self, actor: Actor, mode: NDArray[np.bool_]) -> bool:
        """Whether a subset says more of the response than a search reaches by chance.

        Either its held-out losses are smaller than those of no variable by more than the best of all sets
        of its size would reach, or the columns explain the response better than they do its permutations;
        for a predictor that is no straight line, the columns with other shapes and products.
        """
        if self.false_alarm >= 1.0 or not mode.any():
            return bool(mode.any())
        mask, predictor, allowed = actor.columns(mode), actor.predictor, self.inputs.allowed
        level = self.levels[1]
        # a slow predictor is not asked once more when time is up
        if not predictor.slow or self.clock.look() is None:
            losses = np.stack([predictor.row_losses(np.zeros_like(mask)), predictor.row_losses(mask)])
            losses = losses[:, np.isfinite(losses).all(axis=0)]
            # the length of an error as well as its square, of which a few far rows may hold most
            kinds = [losses] if predictor.log_loss else [losses, np.sqrt(losses)]
            sets = len(allowed), int(mode.sum()), level / len(kinds)
            if any(beats_sets(none - own, *sets) for none, own in kinds):
                return True
        if self.moves_with_columns():
            return True
        bent = None if predictor.additive else shapes(self.inputs.X[:, self.inputs.columns_of(allowed)[0]])
        # a draw of its own: the same data are noise for every seed, or for none
        rng = np.random.default_rng(len(self.inputs.X))
        return bent is not None and beats_permutations(bent, self.inputs.target.Y, level, rng)

    @property
    def levels(self) -> tuple[float, float]:
        """False alarms that straight lines may give, and each other question: all together their share.

        The others are the losses of a found set and, unless straight lines are all there is, other shapes.
        """
        lines, others = (_LINES, 2) if self._bends else (_LINES_ALONE, 1)
        return lines * self.false_alarm, (1.0 - lines) / others * self.false_alarm

    def moves_with_columns(self) -> bool:
        """Whether straight lines explain the response better than they do its permutations."""
        if self._moves is None:
            X, Y = self.inputs.X[:, self.inputs.columns_of(self.inputs.allowed)[0]], self.inputs.target.Y
            rng = np.random.default_rng(len(X))
            self._moves = beats_permutations(X, Y, self.levels[0], rng)
        return self._moves

    def finish(
        self, actor: Actor, kept: NDArray[np.intp], choice: PredictorChoice, stop_reason: str
    ) -> FoundPolicy:
        """Put an actor's answer in terms of all units."""
        theta, mean_theta, mode = actor.theta, actor.mean_theta, actor.mode
        if not actor.ended:
            mode = actor.best_so_far(self.alone()[kept])
            theta = _agreeing(theta, mode)
        sees_more = stop_reason in _ENDED and self._logistic_sees_more(actor)
        # the likelihood may find what least squares did not
        if not (self.is_anything(actor, mode) if mode.any() else sees_more and self.moves_with_columns()):
            # sure of nothing: the best subset is no better than what noise reaches
            theta, mean_theta = theta * 0.5, mean_theta * 0.5
        elif sees_more:
            mode = self.reconsider(actor)
            theta, mean_theta = _agreeing(theta, mode), _agreeing(mean_theta, mode)
        gains = self.spread(kept, actor.gains, np.nan)
        places = self.places(actor, kept, theta > 0.5, gains, mean_theta)
        return FoundPolicy(
            self.spread(kept, theta),
            places,
            gains,
            choice,
            # a search that had ended may have been stopped while it looked around and ranked
            self.clock.reason or stop_reason,
            actor.predictor,
            actor.price * actor.predictor.n_rows,
            dict(self.screened),
            actor.iterations,
        )


def _agreeing(theta: Array, mode: NDArray[np.bool_]) -> Array:
    """Theta of an actor, sure where the likelihood is."""
    return np.where(mode, np.maximum(theta, SURE_IN), np.minimum(theta, SURE_OUT))


def _compared(bent: Array, *plain: Array, classes: bool) -> PredictorChoice:
    """A kernel's squared errors of rows against those of one or more lines, each of which it has to beat.

    The lengths of errors are asked as well as their squares, of which a few far rows may hold most; but for
    classes, whose rows are never far.
    """
    seen = np.isfinite(bent)
    squares = [(line[seen], bent[seen]) for line in plain]
    kinds = [squares] if classes else [squares, [(np.sqrt(line), np.sqrt(own)) for line, own in squares]]
    t = max(min(_paired_t(line - own) for line, own in kind) for kind in kinds)
    best = min(float(line[seen].mean()) for line in plain)
    return PredictorChoice("linear", {"linear": best, "kernel": float(bent[seen].mean())}, t)


def _paired_t(difference: Array) -> float:
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return float(difference.mean() / max(error, 1e-300))
