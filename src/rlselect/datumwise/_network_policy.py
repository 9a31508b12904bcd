"""A policy whose gains come from networks: buy what gains most beyond its price, stop when nothing does."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from rlselect._devices import has_device
from rlselect.datumwise._network import (
    NetworkShape,
    Singles,
    ahead_head,
    outputs,
    softmax,
    trunk,
)
from rlselect.datumwise._network_frontier import PriceFrontier
from rlselect.datumwise._network_inputs import InputColumns
from rlselect.datumwise._network_training import loss_unit
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["NetworkFamily", "NetworkPolicy"]

# states of all members that are worked on at a time: their hidden layers stay in the cache
_STATES = 512
_STATES_ON_DEVICE = 16384

# an answer wins against a purchase that gains nothing
_NOTHING = 1e-7


@dataclass(frozen=True)
class NetworkFamily:
    """Networks of one shape that see the same columns.

    Parameters
    ----------
    columns : InputColumns
        What they see.
    shape : NetworkShape
        Sizes of their layers.
    weights : (members, numbers) float32 array
        Learned.
    """

    columns: InputColumns
    shape: NetworkShape
    weights: Singles

    def part(self, member: int) -> "NetworkFamily":
        """One of the networks."""
        return replace(self, weights=self.weights[member : member + 1])


@dataclass(frozen=True)
class NetworkPolicy:
    """Class probabilities and gains, averaged over networks.

    Probabilities are averaged by their logarithms, which is to average logits: a mean of probabilities is
    less sure than each of the networks, the more so the more classes there are to differ about, though more
    often right. The gain of a purchase is what it adds to the reward at once, minus `price` times its cost as
    a multiple of the mean cost, plus, with lookahead, what it opens the way to.

    Parameters
    ----------
    rules : PurchaseRules
        The rules.
    families : tuple of NetworkFamily
        The networks.
    reward : int
        Which of the rewards that the networks have learned.
    lookahead : bool
        Whether what a purchase opens the way to counts.
    price : float
        Price of a unit of mean cost, in units of the reward.
    frontier : PriceFrontier
        How it did on rows left out at other prices.
    device : str
        Where the networks are computed, as `find_device` takes it; with NumPy for "cpu", and where there is
        no such device.
    thrift : float
        It chooses as if prices were so many times those of the rules.
    logarithm : bool
        Whether that reward is the log probability of the true class.
    given : int
        Units that are known from the start.
    """

    rules: PurchaseRules
    families: tuple[NetworkFamily, ...]
    reward: int
    lookahead: bool
    price: float
    frontier: PriceFrontier
    device: str = "cpu"
    thrift: float = 1.0
    logarithm: bool = False
    given: int = 0

    def at(self, rules: PurchaseRules, thrift: float | None = None, given: int = 0) -> "NetworkPolicy":
        """The same networks under other rules, at the price that earned most on rows left out."""
        thrift = self.thrift if thrift is None else thrift
        price = self.frontier.price_for(thrift * float(rules.prices.mean()))
        return replace(self, rules=rules, price=price, thrift=thrift, given=given)

    def part(self, member: int) -> "NetworkPolicy":
        """One of the networks alone, by the number of the fold that it has not seen."""
        family = self.families[member % len(self.families)]
        return replace(self, families=(family.part(member // len(self.families)),))

    @property
    def temperature(self) -> float:
        """How sure it may be, by the price at which cases know as much: what is given, and within budgets.

        The more is known, the more of it the networks have learned by heart.
        """
        rules = self.rules
        mean = float(rules.prices.mean())
        most_bought = np.inf if rules.budget is None else rules.budget / rules.n_units
        most_spent = (
            np.inf if rules.cost_budget is None or mean <= 0 else rules.cost_budget / mean + self.given
        )
        price = self.frontier.knowing(self.price, self.given / rules.n_units)
        return self.frontier.temperature(self.frontier.within(price, most_bought, most_spent))

    def _think(
        self, codes: NDArray, bought: NDArray, price: NDArray, *, heads: bool
    ) -> tuple[NDArray, NDArray]:
        """Class probabilities (states, classes) and gains before prices (states, units) of a few states."""
        shown = self.rules.shown(bought) & ~np.isnan(codes)
        known = np.where(shown, codes, 0.0).astype(np.float32)
        total = sum(len(family.weights) for family in self.families)
        log_price = np.log10(price).astype(np.float32)
        if not self._on_device:
            logits, gains, aheads = self._sums(known, shown, log_price, heads=heads)
        else:
            from rlselect.datumwise._torch_networks import think_on_device

            networks = [(family.columns, family.shape, family.weights) for family in self.families]
            reward = self.reward if heads else None
            logits, gains, aheads = think_on_device(self.device, networks, known, shown, log_price, reward)
        if heads and self.lookahead:
            gains += aheads * self._goes_on(bought)
        logits /= total
        if len(self.frontier.prices):
            logits[bought.any(axis=1)] /= np.float32(self.temperature)
        return softmax(logits), gains / total

    def _sums(
        self, known: Singles, shown: NDArray, log_price: Singles, *, heads: bool
    ) -> tuple[Singles, Singles, Singles]:
        """Logits of the classes, gains and what lies ahead where above 0, each summed over the networks."""
        logits = np.zeros((len(known), self.rules.n_classes), dtype=np.float32)
        gains, aheads = np.zeros((2, len(known), self.rules.n_units), dtype=np.float32)
        for family in self.families:
            x = family.columns.make(known) * np.take(shown, family.columns.owner, axis=1)
            views = family.shape.views(family.weights)
            second = trunk(views, x[None])[1]
            logits += outputs(views, second, "class").sum(axis=0)
            if heads:
                gains += outputs(views, second, f"gain{self.reward}").sum(axis=0)
            if heads and self.lookahead:
                ahead = ahead_head(views, second, log_price[None], self.reward)[1]
                aheads += np.maximum(ahead, 0, out=ahead).sum(axis=0)
        return logits, gains, aheads

    @property
    def _block(self) -> int:
        """States that are worked on at a time."""
        return _STATES_ON_DEVICE if self._on_device else _STATES

    @property
    def _on_device(self) -> bool:
        """Whether torch computes; a policy that comes from elsewhere may name what is not here."""
        return self.device != "cpu" and has_device(self.device)

    def _goes_on(self, bought: NDArray) -> NDArray:
        """Whether more can be bought after the next purchase: (states, 1)."""
        if self.rules.budget is None:
            return np.ones((len(bought), 1), dtype=np.float32)
        return (bought.sum(axis=1, keepdims=True) + 1 < self.rules.budget).astype(np.float32)

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states, whether open or not."""
        return self._scores(codes, bought, np.full(len(codes), self.price))

    def _scores(self, codes: NDArray, bought: NDArray, prices: NDArray) -> NDArray:
        n_units = self.rules.n_units
        out = np.empty((len(codes), n_units + self.rules.n_classes))
        mean = float(self.rules.prices.mean())
        for part in gen_batches(len(codes), self._block):
            shares, gains = self._think(codes[part], bought[part], prices[part], heads=True)
            cost = self.rules.price(bought[part]) / mean if mean > 0 else np.ones(n_units)
            out[part, :n_units] = gains - prices[part, None] * cost
            out[part, n_units:] = -shares @ self.rules.losses.T
        answers = out[:, n_units:]
        answers -= answers.max(axis=1, keepdims=True) - _NOTHING
        return out

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states."""
        prices = np.full(len(codes), self.price)
        blocks = gen_batches(len(codes), self._block)
        parts = [self._think(codes[b], bought[b], prices[b], heads=False)[0] for b in blocks]
        shares = np.concatenate(parts) if parts else np.empty((0, self.rules.n_classes))
        return shares.astype(float) / shares.sum(axis=1, dtype=float, keepdims=True)

    def outlook(self, codes: NDArray, bought: NDArray) -> tuple[NDArray, NDArray]:
        """Expected costs now and after each purchase, see `PurchasePolicy`.

        The cost of the answer, beyond that of the right one, is taken to shrink by the same share as what the
        networks have learned to make small: the cost of an answer drawn from the class probabilities, or the
        expected surprise at the class.
        """
        rules = self.rules
        prices = np.full(len(codes), self.price)
        blocks = (slice(begin, begin + _STATES) for begin in range(0, len(codes), _STATES))
        parts = [self._think(codes[b], bought[b], prices[b], heads=True) for b in blocks]
        shares, gains = (np.concatenate(found).astype(float) for found in zip(*parts, strict=True))
        now, ideal = rules.answer_costs(shares)
        if self.logarithm:
            loss = -(shares * np.log(np.maximum(shares, 1e-30))).sum(axis=1)
        else:
            drawn = np.einsum("sa,ac,sc->s", shares, rules.losses, shares)
            loss = (drawn - ideal) / loss_unit(rules)
        kept = 1 - np.clip(gains, 0, None) / np.maximum(loss, 1e-12)[:, None]
        return now, ideal[:, None] + (now - ideal)[:, None] * np.clip(kept, 0, 1)

    def score_of(self, cost: float) -> float:
        """By how much a cost lowers a score."""
        mean = float(self.rules.prices.mean())
        return self.price * cost / mean if mean > 0 else cost

    def run(
        self,
        codes: NDArray,
        closed: NDArray,
        *,
        held: NDArray | None = None,
        prices: NDArray | None = None,
    ) -> Episodes:
        """Whole episodes, as `AdditivePolicy.run`; `prices` (cases,) of training where they differ."""
        n, n_units = closed.shape
        prices = np.full(n, self.price) if prices is None else prices
        bought = np.zeros((n, n_units), dtype=bool) if held is None else held.copy()
        answer, cost = np.empty(n, dtype=np.intp), np.zeros(n)
        order: list[NDArray] = []
        live = np.arange(n)
        while len(live):
            scores = self._scores(codes[live], bought[live], prices[live])
            may = self.rules.open(bought[live], cost[live]) & ~closed[live]
            scores[:, :n_units][~may] = -np.inf
            best = scores.argmax(axis=1)
            ends = best >= n_units
            answer[live[ends]] = best[ends] - n_units
            live, best = live[~ends], best[~ends]
            if len(live):
                cost[live] += self.rules.price(bought[live])[np.arange(len(live)), best]
                bought[live, best] = True
                column = np.full(n, -1, dtype=np.int32)
                column[live] = best
                order.append(column)
        stacked = np.stack(order, axis=1) if order else np.empty((n, 0), dtype=np.int32)
        return Episodes(stacked, bought, answer, cost)
