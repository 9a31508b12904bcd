"""What a user may say about how a policy is learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rlselect._options import AUTO, NONE, Allowed, anything, check_options, flag, number, one_of, whole
from rlselect.datumwise._plan import NETWORK

__all__ = ["NetworkTraining", "PaperIteration", "PolicyIteration"]


@dataclass(frozen=True)
class PolicyIteration:
    """Our policy iteration: how a policy is learned by default.

    Parameters
    ----------
    n_iter : int, default=10
        Iterations of a climb.
    n_restarts : int, default=2
        Climbs, by turns from the policy that answers at once and from the one that buys all.
    n_averaged : int, default=8
        The weights of so many policies, the best of all iterations of all climbs, are averaged, which evens
        out what each owes to its sampled states. The best one alone is kept where their average is clearly
        worse, and with 1.
    states_per_row : int, default=20
        States sampled for each training row and iteration.
    on_policy : float in [0, 1], default=0.5
        Share of the states that are random subsets of what the last policy bought; the others are random
        sets.
    n_stages : int, default=4
        Weights differ between so many stages: nothing bought, one unit, two, ..., and all that is more.
        1 has one set of weights, as the paper.
    n_folds : int, default=5
        Each row is played by a policy that was learned without its fold, so that the returns are honest.
        1 plays all rows with the policy they have taught.
    soft_labels : bool, default=True
        Whether every second climb is taught what the class of a row is on average, by a forest that was grown
        without the row and without the fold left out: the chance that is in labels hides small differences
        between purchases. All policies are judged by the labels, so that what the forest has got wrong does
        not count. Without folds, or with one climb only, labels are taught.
    ridge : float, default=0.3
        Penalty of the regression, in rows (of weight one).
    inertia : float in [0, 1), default=0.6
        Share of the weights of the iteration before in those of this one.
    max_states : int, default=40000
        States of an iteration at most; with more rows than that, each iteration takes a random part of them.
    screen : int or None, default=60
        Of more units than this, those are learned about that tell more about the class, each alone, than
        chance does, up to this number and at least 20 (by the rule of Benjamini and Hochberg, with half of
        them false at most); the others are never bought. Of groups with more features than this, those are
        learned about that tell more, up to ten times as many, and the best of each. None learns about all.
    exact_states : int, default=256
        A problem with at most so many states of knowledge (values seen so far) and at least as many rows is
        solved by dynamic programming, and so is any with at most 81 (four binary features); 0 never does.
    """

    _options: ClassVar[Mapping[str, Allowed]] = {
        **{name: whole(1) for name in ("n_iter", "n_restarts", "n_averaged", "n_stages", "n_folds")},
        "states_per_row": whole(2),
        "on_policy": number("a number from 0 to 1", least=0.0, most=1.0),
        "soft_labels": flag(),
        "ridge": number("a finite number above 0", above=0.0),
        "inertia": number("a number from 0 to below 1", least=0.0, below=1.0),
        "max_states": whole(1),
        "screen": NONE | whole(1),
        "exact_states": whole(0),
    }

    n_iter: int = 10
    n_restarts: int = 2
    n_averaged: int = 8
    states_per_row: int = 20
    on_policy: float = 0.5
    n_stages: int = 4
    n_folds: int = 5
    soft_labels: bool = True
    ridge: float = 0.3
    inertia: float = 0.6
    max_states: int = 40000
    screen: int | None = 60
    exact_states: int = 256

    def __post_init__(self) -> None:
        check_options(self, self._options)


@dataclass(frozen=True)
class PaperIteration:
    """The learning algorithm of the paper.

    Where the paper is silent: the first policy answers at once, with classes regressed on random states; the
    member of the mixture is drawn once for each row and rollout; states that the rules do not allow are
    replaced by their largest allowed part. Unlike the paper's, scores have a constant, which the ridge leaves
    alone: without one, all scores are zero as long as nothing is bought, and the first action is a tie.

    Parameters
    ----------
    n_iter : int, default=10
        Policy iterations.
    states_per_row : int, default=10
        Random states for each training row: each unit is bought with probability one half.
    n_rollouts : int, default=1
        Trajectories for each state and action.
    alpha : float in [0, 1), default=0.7
        The policy of an iteration is the new one with probability ``1 - alpha``, else that of the iteration
        before.
    keep : {"last", "best"}, default="last"
        Which weights are used in the end: those of the last iteration, or those with the highest mean return
        on the training rows.
    ridge : float, default=1e-6
        Penalty of the regressions, which keeps them defined.
    """

    _options: ClassVar[Mapping[str, Allowed]] = {
        "n_iter": whole(1),
        "states_per_row": whole(1),
        "n_rollouts": whole(1),
        "alpha": number("a number from 0 to below 1", least=0.0, below=1.0),
        "keep": one_of("last", "best"),
        "ridge": number("a finite number above 0", above=0.0),
    }

    n_iter: int = 10
    states_per_row: int = 10
    n_rollouts: int = 1
    alpha: float = 0.7
    keep: Literal["last", "best"] = "last"
    ridge: float = 1e-6

    def __post_init__(self) -> None:
        check_options(self, self._options)


def _some_steps(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and len(value) > 0 and all(whole(4).holds(one) for one in value)


# what "auto" means, and for few rows
_STEPS, _FEW_STEPS = (400, 1600), (300, 1000)
_HIDDEN, _FEW_HIDDEN = 128, 64
# for many rows or classes, and how many these are
_BATCH, _MANY_BATCH, _MANY_ROWS, _MANY_CLASSES = 128, 256, 1000, 5


@dataclass(frozen=True)
class NetworkTraining:
    """How the networks of ``scoring="network"`` learn.

    Where there is a choice, every candidate is judged on rows that its networks have not seen: at 19 prices,
    by the upper hull of accuracy plus the mean probability of the true class against the share of what is not
    bought. What length of training, reward and lookahead each add on average decides.

    Parameters
    ----------
    steps : int, sequence of int or "auto", default="auto"
        Steps of training; with several numbers the one that suits the data is chosen. "auto" is (400, 1600),
        and (300, 1000) for up to 200 rows.
    reward : {"auto", "probability", "log"}, default="auto"
        What a state of knowledge is worth in training: the expected utility of the answer, which without
        `error_costs` is the probability of the true class, or its logarithm. "auto" learns both and chooses.
    lookahead : bool or "auto", default="auto"
        Whether a purchase is also worth what it opens the way to, or only what it tells by itself.
    n_members : int, default=8
        Networks that are averaged. Each leaves one fold of the rows out, by which it is judged.
    hidden : int or "auto", default="auto"
        Hidden units in each of the two layers of the trunk; what lies ahead has half as many. "auto" is 128,
        and 64 for up to 200 rows.
    batch : int or "auto", default="auto"
        States in a step in which gains are learned; classes are learned in twice as many. "auto" is 128, and
        256 for more than 1,000 rows or more than five classes, so that each of them is met often enough.
    screen : int or None, default=60
        As for `PolicyIteration`.
    """

    _options: ClassVar[Mapping[str, Allowed]] = {
        "steps": AUTO | whole(4) | anything("a list of such integers", _some_steps),
        "reward": one_of("auto", "probability", "log"),
        "lookahead": AUTO | flag(),
        "n_members": whole(2),
        "hidden": AUTO | whole(2),
        "batch": AUTO | whole(2),
        "screen": NONE | whole(1),
    }

    steps: int | Sequence[int] | Literal["auto"] = "auto"
    reward: Literal["auto", "probability", "log"] = "auto"
    lookahead: bool | Literal["auto"] = "auto"
    n_members: int = 8
    hidden: int | Literal["auto"] = "auto"
    batch: int | Literal["auto"] = "auto"
    screen: int | None = 60

    def __post_init__(self) -> None:
        check_options(self, self._options)

    def lengths(self, n_rows: float) -> list[int]:
        """Numbers of steps to try, the fewest first."""
        if isinstance(self.steps, str):
            return list(_FEW_STEPS if n_rows <= NETWORK.few_rows else _STEPS)
        return sorted(np.atleast_1d(self.steps).tolist())

    def width(self, n_rows: float) -> int:
        """Hidden units of the trunk."""
        if self.hidden == "auto":
            return _FEW_HIDDEN if n_rows <= NETWORK.few_rows else _HIDDEN
        return self.hidden

    def states(self, n_rows: float, n_classes: int) -> int:
        """States in a step in which gains are learned."""
        if self.batch == "auto":
            return _MANY_BATCH if n_rows > _MANY_ROWS or n_classes > _MANY_CLASSES else _BATCH
        return self.batch
