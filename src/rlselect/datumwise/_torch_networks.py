"""The networks of `_network` and their training in torch, on any device; all kinds of networks at once.

Rows, states and first weights are those that NumPy would have met, so that results agree but for rounding. On
CUDA a step is recorded once and replayed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect._devices import find_device
from rlselect.datumwise._network import LEAK, NetworkShape, Singles
from rlselect.datumwise._network_inputs import InputColumns
from rlselect.datumwise._network_training import TrainingTask, kept_factor, leaders, one_cycle
from rlselect.datumwise._plan import NETWORK
from rlselect.kernels import LEAST_SCALE, MEAN_DECAY, SQUARE_DECAY

__all__ = ["think_on_device", "train_on_device"]

# steps whose draws are sent to the device at a time
_SENT = 20
# first runs, in which libraries set themselves up and which are not recorded
_WARM_UP = 3

Views = Mapping[str, Any]


def train_on_device(
    tasks: Sequence[TrainingTask], device: str, clock: Clock, must_end: bool = True
) -> list[Singles | None]:
    """As `train_networks` for tasks of equal steps and lessons, all their networks in one batch.

    On the CPU, where padding narrow networks costs more than it saves, task by task.
    """
    where = find_device(device)
    batches = [list(tasks)] if where.type == "cuda" else [[task] for task in tasks]
    out: list[Singles | None] = []
    for batch in batches:
        trainer = _Trainer(batch, where)
        done = trainer.run(clock)
        out += trainer.result() if done or must_end else [None] * len(batch)
    return out


def think_on_device(
    device: str,
    families: Sequence[tuple[InputColumns, NetworkShape, Singles]],
    codes: Singles,
    shown: NDArray,
    log_price: Singles,
    reward: int | None,
) -> tuple[Singles, Singles, Singles]:
    """Sums over networks: logits of states, gains of a reward, and what lies ahead if above 0.

    `codes`, `shown` are (states, features); without a reward gains are not computed.
    """
    import torch

    where = find_device(device)
    given, seen = _send(codes, where), _send(shown, where)
    prices = _send(log_price, where)
    logits: Any = 0.0
    gains: Any = torch.zeros(())
    aheads: Any = torch.zeros(())
    with torch.no_grad():
        for columns, shape, weights in families:
            lines = _Lines([columns], columns.width, where)
            x = lines.make(given[None], seen[None])
            asked = prices if reward is not None else prices[:0]
            size = (shape.rewards, len(weights), len(asked))
            own, gain, ahead = _forward(
                shape.views(_send(weights, where)), x, asked.expand(size), rewards=reward
            )
            logits = logits + own.sum(dim=0)
            if reward is not None:
                gains = gains + gain[0].sum(dim=0)
                aheads = aheads + ahead[0].relu().sum(dim=0)
    return logits.cpu().numpy(), gains.cpu().numpy(), aheads.cpu().numpy()


def _send(values: NDArray, device: Any) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(device)


def _forward(
    views: Views, x: Any, log_price: Any, kept: Any = None, rewards: int | None = None
) -> tuple[Any, list[Any], list[Any]]:
    """Logits, and gains and what lies ahead by reward or of a given one, as `_network.forward`."""
    import torch

    def layer(values: Any, name: str) -> Any:
        return torch.matmul(values, views[name]) + views[name + "_bias"]

    second = layer(layer(x, "input").relu(), "trunk").relu()
    if kept is not None:
        second = second * kept
    logits = layer(second, "class")
    gains: list[Any] = []
    aheads: list[Any] = []
    number = log_price.shape[2]
    if number == 0:
        return logits, gains, aheads
    priced = second[:, :number]
    for r in range(len(log_price)) if rewards is None else [rewards]:
        gains.append(layer(priced, f"gain{r}"))
        inner = torch.cat([priced, log_price[r][..., None]], dim=2)
        ahead = torch.nn.functional.leaky_relu(layer(inner, f"ahead{r}"), float(LEAK))
        aheads.append(layer(ahead, f"ahead_of{r}"))
    return logits, gains, aheads


class _Lines:
    """The columns of several kinds of inputs, one for each network or one for all, padded to equal width."""

    def __init__(self, kinds: Sequence[InputColumns], width: int, device: Any) -> None:
        import torch

        self.owner = torch.zeros((len(kinds), 1, width), dtype=torch.int64, device=device)
        lines = torch.zeros((4, len(kinds), 1, width), device=device)
        for k, kind in enumerate(kinds):
            self.owner[k, 0, : kind.width] = _send(kind.owner.astype(np.int64), device)
            for line, values in zip(lines, (kind.low, kind.slope, kind.least, kind.most), strict=True):
                line[k, 0, : kind.width] = _send(values, device)
        self.low, self.slope, self.least, self.most = lines

    def make(self, codes: Any, shown: Any) -> Any:
        """Inputs (networks, states, columns) of codes of which those are seen that are shown."""
        import torch

        owner = self.owner.expand(-1, codes.shape[1], -1)
        out = (codes.gather(2, owner) - self.low) * self.slope
        out = torch.minimum(torch.maximum(out, self.least), self.most)
        return out * shown.gather(2, owner)


class _Trainer:
    """Buffers of networks that are trained together, and the steps on them."""

    def __init__(self, tasks: Sequence[TrainingTask], device: Any) -> None:
        import torch

        self.torch, self.device, self.tasks = torch, device, tasks
        first = tasks[0]
        self.lessons, self.steps, self.quiet = first.lessons, first.steps, first.quiet
        width = max(task.shape.width for task in tasks)
        self.shape = replace(first.shape, width=width)
        starts, self.draws = zip(*(task.start() for task in tasks), strict=True)
        self.members = [len(one) for one in starts]
        weights = np.concatenate(
            [_widened(task.shape, width, one) for task, one in zip(tasks, starts, strict=True)]
        )
        self.weights = _send(weights, device)
        self.slow = self.weights.clone()
        self.mean, self.square = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        kinds = [task.columns for task in tasks for _ in task.left_out]
        self.lines = _Lines(kinds, width, device)
        self.noise = _send(np.stack([kind.noise for kind in kinds])[:, None], device)
        below, factor = zip(*(kept_factor(kind.dropout) for kind in kinds), strict=True)
        self.below = _send(np.array(below, dtype=np.int16)[:, None, None], device)
        self.factor = _send(np.array(factor, dtype=np.float32)[:, None, None], device)
        self._send_lessons()
        self._send_states()
        rates, sizes = one_cycle(self.steps)
        self.shrink = _send((1 - rates * NETWORK.decay).astype(np.float32), device)
        self.sizes = _send(sizes, device)

    def _send_lessons(self) -> None:
        lessons, device = self.lessons, self.device
        self.codes, self.known = _send(lessons.codes, device), _send(lessons.known, device)
        self.closed = _send(lessons.closed, device)
        self.labels = _send(lessons.labels.astype(np.int64), device)
        self.cost, self.worth = _send(lessons.cost, device), _send(lessons.worth, device)
        shows = np.zeros((lessons.rules.n_units, lessons.codes.shape[1]), dtype=np.float32)
        for unit, group in enumerate(lessons.rules.groups):
            shows[unit, group] = 1.0
        self.shows = _send(shows, device)

    def _send_states(self) -> None:
        torch, draws = self.torch, self.draws[0]
        self.episodes, self.priced = draws.episodes, draws.priced
        size = (sum(self.members), draws.batch)
        self.rows = torch.zeros(size, dtype=torch.int64, device=self.device)
        self.bought = torch.zeros((*size, draws.units), dtype=torch.bool, device=self.device)
        prices = np.concatenate([one.prices(one.priced) for one in self.draws], axis=1)
        self.log_price = _send(prices, self.device)
        self.leader = _send(leaders(draws).astype(np.int64), self.device)
        self.count = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=self.device)

    # ------------------------------------------------------------------ running

    def run(self, clock: Clock) -> bool:
        """All steps, as long as there is time; whether there was."""
        for begin, end, gains in ((0, self.quiet, False), (self.quiet, self.steps, True)):
            if gains:
                self.bought[:, : self.episodes] = False
            self.sent: dict[str, Any] = {}
            graph = None
            for at in range(begin, end, _SENT):
                if clock.look() is not None:
                    return False
                number = min(_SENT, end - at)
                self._send_draws([self._draw(gains) for _ in range(number)])
                done = 0
                if self._can_record and graph is None and number > _WARM_UP:
                    graph, done = self._record(gains), _WARM_UP
                for _ in range(done, number):
                    if graph is None:
                        self._step(gains)
                    else:
                        graph.replay()
        return True

    @property
    def _can_record(self) -> bool:
        return bool(self.device.type == "cuda") and self._plain

    @property
    def _plain(self) -> bool:
        """Whether all that is not bought can be bought."""
        return self.lessons.rules.plain and self.lessons.rules.budget is None

    def _draw(self, gains: bool) -> dict[str, NDArray]:
        """The draws of one step of all networks."""
        drawn = [draws.gain_step() if gains else draws.step() for draws in self.draws]
        return {
            field.name: np.concatenate(
                [getattr(one, field.name) for one in drawn], axis=1 if field.name.endswith("prices") else 0
            )
            for field in fields(drawn[0])
        }

    def _send_draws(self, drawn: list[dict[str, NDArray]]) -> None:
        """Fill the buffers for some steps, which are made at the first time: a record knows their place."""
        torch = self.torch
        for name in drawn[0]:
            values = torch.from_numpy(np.stack([one[name] for one in drawn]))
            if name not in self.sent:
                size = (_SENT, *values.shape[1:])
                self.sent[name] = torch.zeros(size, dtype=values.dtype, device=self.device)
            self.sent[name][: len(drawn)] = values.to(self.device)
        self.place.zero_()

    def _record(self, gains: bool) -> Any:
        """A graph of one step, after some steps outside of it."""
        cuda = self.torch.cuda
        side = cuda.Stream(self.device)
        side.wait_stream(cuda.current_stream(self.device))
        with cuda.stream(side):
            for _ in range(_WARM_UP):
                self._step(gains)
        cuda.current_stream(self.device).wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self._step(gains)
        return graph

    # ------------------------------------------------------------------ one step

    def _step(self, gains: bool) -> None:
        torch = self.torch
        drawn = {name: values.index_select(0, self.place)[0] for name, values in self.sent.items()}
        self._renew(drawn)
        labels, codes, known = self.labels[self.rows], self.codes[self.rows], self.known[self.rows]
        x = self.lines.make(codes + self.noise * drawn["noise"], self._shown(self.bought) & known)
        kept = (drawn["kept"] < self.below) * self.factor
        weights = self.weights.detach().requires_grad_()
        log_price = self.log_price if gains else self.log_price[:, :, :0]
        logits, found, ahead = _forward(self.shape.views(weights), x, log_price, kept)
        loss = -torch.log_softmax(logits, dim=2).gather(2, labels[..., None]).mean(dim=1).sum()
        if gains:
            with torch.no_grad():
                tries, valid, targets = self._targets(drawn, found, ahead)
            for r, kind in enumerate(self.lessons.rewards):
                for guess, target in zip((found[r], ahead[r]), targets[r], strict=True):
                    error = (guess.gather(2, tries) - target) * valid
                    number = tries.shape[1] * tries.shape[2]
                    loss = loss + NETWORK.weights[kind] / number * (error * error).sum()
        (slopes,) = torch.autograd.grad(loss, weights)
        self._adam(slopes)

    def _adam(self, slopes: Any) -> None:
        length = (slopes * slopes).sum(dim=1, keepdim=True).sqrt()
        slopes = slopes * (NETWORK.clip_norm / length.clamp(min=1e-12)).clamp(max=1.0)
        self.mean.mul_(MEAN_DECAY).add_(slopes, alpha=1.0 - MEAN_DECAY)
        self.square.mul_(SQUARE_DECAY).addcmul_(slopes, slopes, value=1.0 - SQUARE_DECAY)
        size, shrink = (line.index_select(0, self.count) for line in (self.sizes, self.shrink))
        move = self.mean / (self.square.sqrt() + LEAST_SCALE)
        self.weights.mul_(shrink).sub_(move * size)
        self.slow.add_(self.weights - self.slow, alpha=NETWORK.slow)
        self.count += 1
        self.place += 1

    def _renew(self, drawn: Views) -> None:
        start = self.rows.shape[1] - drawn["rows"].shape[1]
        self.rows[:, start:] = drawn["rows"]
        self.bought[:, start:] = drawn["masks"] & ~self.closed[drawn["rows"]]
        if "prices" in drawn:
            self.log_price[:, :, start:] = drawn["prices"]

    def _only(self, units: Any) -> Any:
        """Single units (...) as what is bought (..., units)."""
        return units[..., None] == self.torch.arange(self.bought.shape[2], device=self.device)

    def _shown(self, bought: Any) -> Any:
        return (bought.float() @ self.shows) > 0

    def _open(self, bought: Any, closed: Any) -> Any:
        if self._plain:
            return ~(bought | closed)
        # rules that depend on what was bought are known to the lessons alone
        return _send(self.lessons.open(bought.cpu().numpy(), closed.cpu().numpy()), self.device)

    def _reward(self, kind: int, logits: Any, labels: Any) -> Any:
        torch = self.torch
        if kind == 0:
            return (torch.softmax(logits, dim=2) * self.worth[labels]).sum(dim=2)
        true = torch.log_softmax(logits, dim=2).gather(2, labels[..., None])[..., 0]
        return true.clamp(min=NETWORK.floor)

    def _targets(self, drawn: Views, gains: list[Any], aheads: list[Any]) -> tuple[Any, Any, list[Any]]:
        """Purchases that are tried, whether they can be, and what the slow copy says; episodes go on."""
        torch, n = self.torch, self.priced
        rows, bought = self.rows[:, :n], self.bought[:, :n]
        labels, codes, known, closed = (
            values[rows] for values in (self.labels, self.codes, self.known, self.closed)
        )
        may = self._open(bought, closed)
        price = torch.pow(10.0, self.log_price)[..., None] * self.cost
        scores = [
            (gain - one + ahead.relu()).masked_fill(~may, -np.inf)
            for gain, one, ahead in zip(gains, price, aheads, strict=True)
        ]
        luck = drawn["luck"].masked_fill(~may, -1.0)
        tried = luck.topk(min(NETWORK.tried, luck.shape[2]), dim=2).indices
        tries = torch.cat([tried, *(score.argmax(dim=2, keepdim=True) for score in scores)], dim=2)
        members, _, n_tries = tries.shape
        slow = self.shape.views(self.slow)
        x = self.lines.make(codes, self._shown(bought) & known)
        before = _forward(slow, x, self.log_price[:, :, :0])[0]
        # (members, states, tries, units): one more is bought
        after = bought[:, :, None, :] | self._only(tries)
        flat = (members, n * n_tries, -1)

        def each(values: Any) -> Any:
            return values[:, :, None].expand(-1, -1, n_tries, *values.shape[2:])

        shown = self._shown(after) & each(known)
        x = self.lines.make(each(codes).reshape(flat), shown.reshape(flat))
        log_price = self.log_price.repeat_interleave(n_tries, dim=2)
        logits, then, further = _forward(slow, x, log_price)
        then_may = self._open(after, each(closed)).reshape(members, n * n_tries, -1)
        then_labels = labels.repeat_interleave(n_tries, dim=1)
        targets = []
        for r, kind in enumerate(self.lessons.rewards):
            reward = self._reward(kind, logits, then_labels).reshape(tries.shape)
            reward = reward - self._reward(kind, before, labels)[..., None]
            score = then[r] - price[r].repeat_interleave(n_tries, dim=1) + further[r].relu()
            best = score.masked_fill(~then_may, 0.0).amax(dim=2).relu()
            targets.append((reward, best.reshape(tries.shape)))
        self._advance(drawn, scores, may)
        return tries, may.gather(2, tries), targets

    def _advance(self, drawn: Views, scores: list[Any], may: Any) -> None:
        """Episodes buy what is best, or at random; those that end make place for new rows."""
        torch, number = self.torch, self.episodes
        may = may[:, :number]
        own = torch.stack([score[:, :number] for score in scores])
        leader = self.leader[None, None, :, None].expand(1, *own.shape[1:])
        worth, best = own.gather(0, leader)[0].max(dim=2)
        random = drawn["random"].masked_fill(~may, -1.0).argmax(dim=2)
        stray = drawn["stray"]
        choice = torch.where(stray, random, best)
        ends = (~stray & (worth <= 0)) | ~may.any(dim=2)
        bought = self.bought[:, :number] | self._only(choice)
        self.bought[:, :number] = bought & ~ends[..., None]
        self.rows[:, :number] = torch.where(ends, drawn["fresh"], self.rows[:, :number])
        self.log_price[:, :, :number] = torch.where(
            ends, drawn["fresh_prices"], self.log_price[:, :, :number]
        )

    def result(self) -> list[Singles]:
        """Weights of the networks of each task."""
        whole, out, begin = self.weights.cpu().numpy(), [], 0
        for task, number in zip(self.tasks, self.members, strict=True):
            out.append(_narrowed(task.shape, self.shape, whole[begin : begin + number]))
            begin += number
        return out


def _widened(shape: NetworkShape, width: int, weights: Singles) -> Singles:
    """The same networks with zero weights of more inputs."""
    wide = replace(shape, width=width)
    out = np.zeros((len(weights), wide.size), dtype=np.float32)
    for name, part in shape.views(weights).items():
        wide.views(out)[name][:, : part.shape[1]] = part
    return out


def _narrowed(shape: NetworkShape, wide: NetworkShape, weights: Singles) -> Singles:
    """Networks without the inputs that only fill up."""
    out = np.empty((len(weights), shape.size), dtype=np.float32)
    for name, part in shape.views(out).items():
        part[...] = wide.views(weights)[name][:, : part.shape[1]]
    return out
