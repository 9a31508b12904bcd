"""FSTD: temporal differences over the graph of subsets, learnt from single steps."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect._options import number, whole
from rlselect._random import RandomState
from rlselect.data import MissingMode
from rlselect.learn import TemporalDifferences
from rlselect.subset.rivals._games import GameSelector
from rlselect.subset.rivals._neighbours import NeighbourReward
from rlselect.subset.rivals._rival import RivalProblem

__all__ = ["FSTD"]


class FSTD(GameSelector):
    r"""Features by temporal differences over the graph of subsets.

    A step from a subset F to F + f is rewarded by what it adds to the worth of F, here how well nearest
    neighbours put random rows into order, the same rows for both. Values of subsets follow

    .. math:: V(F) \leftarrow V(F) + \alpha \left(r + \gamma V(F + f) - V(F)\right),

    and the value of a feature is the mean reward of all steps that added it. Features with a value above zero
    are selected. Steps are chosen by an upper confidence bound on the graph, some at random.

    A comparator of the ACP paper. As fast as `FUSE`, with the same limits; of two features that matter only
    together, the one that comes second has the credit. Not meant for many classes, where the rewards of
    single steps drown in noise.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}, default="auto"
        What y is.
    n_features_to_select : int or "auto", default="auto"
        "auto" takes features of positive value, a number those of the largest ones.
    n_games : int, default=2000
        Games to play.
    n_neighbors : int, default=5
        Neighbours that score a row.
    n_judged : int, default=50
        Rows that are scored in a game.
    exploration : float, default=0.1
        Width of the upper confidence bounds.
    epsilon : float, default=0.1
        Share of random steps.
    learning_rate, discount : float, default=0.5, 0.7
        :math:`\alpha` and :math:`\gamma`.
    patience : int, default=2
        Steps in a row without gain that end a game.
    max_size : int, default=20
        Most features of a game.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    transform_as : {"columns", "design"}, default="columns"
        What `transform` gives: the selected features as they came, or their numeric design columns.
    time_budget : float, optional
        Seconds after which no further game is played.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the games.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    values_ : array of shape (n_features,)
        Mean reward of the steps that added a feature; NaN for one that is constant or a copy.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best: selected features first, then by value.
    path_ : dict of arrays
        One entry per game: ``size`` of its subset, and its reward (``score``).
    n_games_ : int
        Games played.
    stop_reason_ : str
        "all games", "time budget", "interrupted", "callback" or "nothing to choose from".
    classes_ : array
        Labels, for classification.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    Notes
    -----
    Read from public descriptions of [1]_. Ours are: the reward by nearest neighbours (as in FUSE), a bound
    that uses the graph where a step is known and the feature's mean elsewhere, and the end of a game.

    References
    ----------
    .. [1] S. M. H. Fard, A. Hamzeh, S. Hashemi (2013), "Using reinforcement learning to find an optimal set
       of features", Computers & Mathematics with Applications.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.subset import FSTD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = X[:, 1] + X[:, 4] > 0
    >>> FSTD(n_games=300, random_state=0).fit(X, y).get_support(indices=True)
    array([1, 4])
    """

    _worth_name = "values_"
    _options: ClassVar = {
        **GameSelector._options,
        "epsilon": number("a number from 0 to 1", least=0.0, most=1.0),
        "learning_rate": number("a number above 0 and at most 1", above=0.0, most=1.0),
        "discount": number("a number from 0 to 1", least=0.0, most=1.0),
        "patience": whole(1),
        "max_size": whole(1),
    }

    def __init__(
        self,
        *,
        task: Literal["auto", "regression", "classification"] = "auto",
        n_features_to_select: int | Literal["auto"] = "auto",
        n_games: int = 2000,
        n_neighbors: int = 5,
        n_judged: int = 50,
        exploration: float = 0.1,
        epsilon: float = 0.1,
        learning_rate: float = 0.5,
        discount: float = 0.7,
        patience: int = 2,
        max_size: int = 20,
        missing: MissingMode = "error",
        transform_as: Literal["columns", "design"] = "columns",
        time_budget: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.task = task
        self.n_features_to_select = n_features_to_select
        self.n_games = n_games
        self.n_neighbors = n_neighbors
        self.n_judged = n_judged
        self.exploration = exploration
        self.epsilon = epsilon
        self.learning_rate = learning_rate
        self.discount = discount
        self.patience = patience
        self.max_size = max_size
        self.missing = missing
        self.transform_as = transform_as
        self.time_budget = time_budget
        self.random_state = random_state

    def _player(self, problem: RivalProblem, reward: NeighbourReward, rng: np.random.Generator) -> Any:
        return TemporalDifferences(
            len(problem.allowed),
            reward,
            rng,
            rate=self.learning_rate,
            discount=self.discount,
            exploration=self.exploration,
            epsilon=self.epsilon,
            patience=self.patience,
            max_size=self.max_size,
        )

    def _choose(self, player: TemporalDifferences, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return values > 0

    def _worth_words(self) -> str:
        return "Mean gain when added"

    def _worth_note(self) -> str:
        return (
            "Mean gain: by how much the share of pairs of rows that are put into the right order, by the "
            "rows most like them, grows when the variable joins a set."
        )
