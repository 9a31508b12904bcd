"""Several small networks of one shape at once: class probabilities, and gains of all purchases.

A trunk of two hidden layers feeds a class head and, for each reward, what a purchase gains at once, and what
it opens the way to, which knows the price and has a hidden layer of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEAK",
    "Activations",
    "NetworkShape",
    "Singles",
    "ahead_head",
    "backward",
    "forward",
    "hidden",
    "outputs",
    "softmax",
    "start_weights",
    "trunk",
]

Singles = NDArray[np.float32]
Views = Mapping[str, Singles]

# What is left of what is below zero in the hidden layer of what lies ahead. That layer starts to learn while
# the rate is high: cut off at zero, most of its units would end below it for all states and learn no more.
LEAK = np.float32(0.1)


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of the layers; all weights of a network are one row of numbers.

    Parameters
    ----------
    width, trunk, ahead, classes, units, rewards : int
        Columns of input, hidden units of the trunk and of what lies ahead, and what there is to tell apart.
    """

    width: int
    trunk: int
    ahead: int
    classes: int
    units: int
    rewards: int

    def layers(self) -> list[tuple[str, int, int]]:
        """Name, inputs and outputs of each layer."""
        out = [
            ("input", self.width, self.trunk),
            ("trunk", self.trunk, self.trunk),
            ("class", self.trunk, self.classes),
        ]
        for r in range(self.rewards):
            out += [
                (f"gain{r}", self.trunk, self.units),
                (f"ahead{r}", self.trunk + 1, self.ahead),
                (f"ahead_of{r}", self.ahead, self.units),
            ]
        return out

    @property
    def size(self) -> int:
        """Numbers of one network."""
        return sum((inputs + 1) * outputs for _, inputs, outputs in self.layers())

    def views(self, weights: Singles) -> dict[str, Singles]:
        """Parts of the weights by name: matrices (members, inputs, outputs), biases (members, 1, outputs)."""
        out: dict[str, Singles] = {}
        begin = 0
        for name, inputs, outputs in self.layers():
            end = begin + inputs * outputs
            out[name] = weights[:, begin:end].reshape(-1, inputs, outputs)
            out[name + "_bias"] = weights[:, end : end + outputs].reshape(-1, 1, outputs)
            begin = end + outputs
        return out


def start_weights(shape: NetworkShape, members: int, rng: np.random.Generator) -> Singles:
    """Uniform weights, as large as the number of inputs asks for."""
    weights = np.empty((members, shape.size), dtype=np.float32)
    views = shape.views(weights)
    for name, inputs, _ in shape.layers():
        for part in (views[name], views[name + "_bias"]):
            part[...] = (2 * rng.random(part.shape, dtype=np.float32) - 1) / np.sqrt(inputs)
    return weights


@dataclass
class Activations:
    """What the layers gave for (members, states); gains and what lies ahead are lists by reward."""

    x: Singles
    first: Singles
    second: Singles
    logits: Singles
    gains: list[Singles]
    ahead_hidden: list[Singles]
    aheads: list[Singles]


def hidden(views: Views, x: Singles, name: str) -> Singles:
    """A hidden layer: what is below zero is cut off."""
    out = x @ views[name]
    out += views[name + "_bias"]
    return np.maximum(out, 0, out=out)


def outputs(views: Views, x: Singles, name: str) -> Singles:
    """A layer whose numbers stay as they are."""
    out: Singles = x @ views[name]
    out += views[name + "_bias"]
    return out


def trunk(views: Views, x: Singles) -> tuple[Singles, Singles]:
    """Both hidden layers of the trunk."""
    first = hidden(views, x, "input")
    return first, hidden(views, first, "trunk")


def ahead_head(views: Views, second: Singles, log_price: Singles, reward: int) -> tuple[Singles, Singles]:
    """What purchases open the way to, at `log_price` (members, states), after the hidden layer."""
    matrix = views[f"ahead{reward}"]
    ahead: Singles = second @ matrix[:, :-1]
    ahead += log_price[..., None] * matrix[:, -1:]
    ahead += views[f"ahead{reward}_bias"]
    np.maximum(ahead, LEAK * ahead, out=ahead)
    return ahead, outputs(views, ahead, f"ahead_of{reward}")


def softmax(logits: Singles) -> Singles:
    """Probabilities of the last axis."""
    out = np.exp(logits - logits.max(axis=-1, keepdims=True))
    out /= out.sum(axis=-1, keepdims=True)
    return out


def forward(
    views: Views,
    x: Singles,
    log_price: Singles,
    drop: Singles | None = None,
) -> Activations:
    """All layers for inputs (members, states, columns).

    `log_price` is (rewards, members, first states): gains are given for as many of the states as it has.
    `drop` has factors (members, states, trunk) of the second hidden layer.
    """
    first, second = trunk(views, x)
    if drop is not None:
        second *= drop
    out = Activations(x, first, second, outputs(views, second, "class"), [], [], [])
    priced = second[:, : log_price.shape[2]]
    for r, price in enumerate(log_price):
        ahead = ahead_head(views, priced, price, r)
        out.gains.append(outputs(views, priced, f"gain{r}"))
        out.ahead_hidden.append(ahead[0])
        out.aheads.append(ahead[1])
    return out


def _linear(grads: Views, name: str, x: Singles, slope: Singles) -> None:
    """Gradient of a layer's matrix and bias."""
    np.matmul(x.swapaxes(1, 2), slope, out=grads[name])
    np.sum(slope, axis=1, keepdims=True, out=grads[name + "_bias"])


def backward(
    views: Views,
    grads: Views,
    seen: Activations,
    log_price: Singles,
    d_logits: Singles,
    d_gains: list[Singles],
    d_aheads: list[Singles],
    drop: Singles | None,
) -> None:
    """Write the gradient of a loss into `grads`, from its slopes in logits, gains and what lies ahead.

    Without slopes of gains those heads are left as they are.
    """
    _linear(grads, "class", seen.second, d_logits)
    slope: Singles = d_logits @ views["class"].swapaxes(1, 2)
    priced, part = seen.second[:, : log_price.shape[2]], slope[:, : log_price.shape[2]]
    for r, (d_gain, d_ahead) in enumerate(zip(d_gains, d_aheads, strict=True)):
        _linear(grads, f"gain{r}", priced, d_gain)
        part += d_gain @ views[f"gain{r}"].swapaxes(1, 2)
        _linear(grads, f"ahead_of{r}", seen.ahead_hidden[r], d_ahead)
        inner = d_ahead @ views[f"ahead_of{r}"].swapaxes(1, 2)
        inner *= np.where(seen.ahead_hidden[r] > 0, np.float32(1), LEAK)
        matrix = grads[f"ahead{r}"]
        matrix[:, :-1] = priced.swapaxes(1, 2) @ inner
        matrix[:, -1:] = log_price[r][:, None, :] @ inner
        np.sum(inner, axis=1, keepdims=True, out=grads[f"ahead{r}_bias"])
        part += inner @ views[f"ahead{r}"][:, :-1].swapaxes(1, 2)
    slope *= seen.second > 0
    if drop is not None:
        slope *= drop
    _linear(grads, "trunk", seen.first, slope)
    below = slope @ views["trunk"].swapaxes(1, 2)
    below *= seen.first > 0
    _linear(grads, "input", seen.x, below)
