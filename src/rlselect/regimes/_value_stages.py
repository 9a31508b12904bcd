"""A stage of Algorithm 28: from responses to the values of its rows, with its features and without one more.

Values are the largest Q-value of each row over its feasible actions. Responses are columns: one for each
candidate of a later stage, so that all of them pass through a stage in one product.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlselect._clock import stop_if_late
from rlselect.kernels import projected_inverse, squared_solution
from rlselect.regimes._stage_machine import StageMachine

__all__ = ["GaussianStage", "ValueStage", "turn_actions"]


class ValueStage:
    """A stage's machine under its present features.

    Parameters
    ----------
    machine : StageMachine
    history, allowed : arrays
        Of the machine's rows.
    """

    # whether a task in another process may work on it
    travels = True

    def __init__(self, machine: StageMachine, history: np.ndarray, allowed: np.ndarray) -> None:
        self.allowed = allowed
        problem = machine.make_problem()
        self.state = problem.state
        self.ridge = problem.lam * machine.weights.sum() / machine.weights
        self._prepare(machine, history)
        self.refresh()

    def _prepare(self, machine: StageMachine, history: np.ndarray) -> None:
        self.every = machine.encoder.each_action(history)

    @property
    def active(self) -> list[int]:
        """Features still in."""
        return list(self.state.active)

    def drop(self, group: int) -> None:
        """Remove a feature for good."""
        self.state.drop([group])
        self.refresh()

    def refresh(self) -> None:
        """Solve for the present features."""
        self.gram = self.state.gram()
        self.inverse = projected_inverse(self.gram, self.ridge, True)
        self.sums = self.gram.sum(axis=0) + self.ridge
        self._find_crosses()

    def _find_crosses(self) -> None:
        self.crosses = [self.state.cross(X, self.active) for X in self.every]

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Values with the present features, one column per response (n, m)."""
        coefficients = self.inverse @ Y
        intercepts = (Y.sum(axis=0) - self.sums @ coefficients) / len(Y)
        return self._best(self._present_q(coefficients) + intercepts[:, None])

    def values_without(self, y: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Values without each of some features, one column per feature: a factorisation each."""
        found = np.empty((len(y), len(groups)))
        for place, group in enumerate(groups):
            stop_if_late()
            gram = self.state.without(group)
            coefficients, intercept = squared_solution(gram, y, self.ridge, True)
            q = self._reduced_q(group, gram, coefficients[:, None])
            found[:, place] = self._best(q + intercept)[:, 0]
        return found

    def _present_q(self, coefficients: np.ndarray) -> np.ndarray:
        """Q-values without intercept under each action: (n, m, K)."""
        return np.stack([cross @ coefficients for cross in self.crosses], axis=-1)

    def _reduced_q(self, group: int | None, gram: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        rest = [g for g in self.active if g != group]
        return np.stack([self.state.cross(X, rest) @ coefficients for X in self.every], axis=-1)

    def _best(self, q: np.ndarray) -> np.ndarray:
        return np.where(self.allowed[:, None], q, -np.inf).max(axis=-1)


class GaussianStage(ValueStage):
    """A stage with a Gaussian kernel: what another action would change follows from who took which.

    Rows that took the same action contribute to a Q-value by the same factor, whatever the action it is
    asked for; one product for each action that was taken gives all Q-values, and no other kernel is needed.
    """

    def _prepare(self, machine: StageMachine, history: np.ndarray) -> None:
        codes = machine.encoder.codes
        distances = np.square(machine.X[:, machine.encoder.action][:, None] - codes).sum(axis=-1)
        self.taken = np.eye(len(codes))[distances.argmin(axis=1)]
        # Corners of a simplex are all equally far from each other.
        self.apart = float(np.square(codes[0] - codes[1]).sum())

    def _find_crosses(self) -> None:
        pass

    def _present_q(self, coefficients: np.ndarray) -> np.ndarray:
        return self._reduced_q(None, self.gram, coefficients)

    def _reduced_q(self, group: int | None, gram: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        shares = coefficients[:, :, None] * self.taken[:, None]
        parts = (gram @ shares.reshape(len(gram), -1)).reshape(shares.shape)
        return turn_actions(parts, self.taken[:, None], self.apart / self.state.bandwidth**2)


def turn_actions(parts: Any, taken: Any, distance: float) -> Any:
    """Q-values under each action from what the rows that took each action contribute to those as they are.

    Parameters
    ----------
    parts : (..., K) array or tensor
        Contributions, by the action of the rows they come from.
    taken : array or tensor
        The action each row took as 0 and 1 (K of them), shaped to go with ``parts``.
    distance : float
        Squared distance between any two actions, in squared bandwidths.

    Notes
    -----
    A row that turns from its action k to another, a, moves away from the rows that took k and joins those
    that took a: their kernel values change by ``exp(-distance)`` and ``exp(distance)``, all others stay.
    """
    own = (parts * taken).sum(-1)[..., None]
    turned = math.expm1(-distance) * own + math.expm1(distance) * parts
    return parts.sum(-1)[..., None] + (1.0 - taken) * turned
