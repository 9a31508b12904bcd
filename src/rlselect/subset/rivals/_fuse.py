"""FUSE: an upper confidence tree over subsets, learnt from whole games."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect._options import number
from rlselect._random import RandomState
from rlselect.data import MissingMode
from rlselect.learn import UpperConfidenceTree
from rlselect.subset.rivals._games import GameSelector
from rlselect.subset.rivals._neighbours import NeighbourReward
from rlselect.subset.rivals._rival import RivalProblem

__all__ = ["FUSE"]


class FUSE(GameSelector):
    r"""Feature selection as a one-player game: an upper confidence tree over subsets.

    A game starts with no feature, adds one after the other and ends with the move "stop"; its reward is how
    well the nearest neighbours in those features put a few random rows into order (for two classes the area
    under the ROC curve). Moves are chosen by

    .. math:: (1 - \alpha) \hat\mu_{F,f} + \alpha \left((1 - \beta)\, \ell_{F,f} + \beta\, g_f\right)
        + \sqrt{\frac{c_e \ln T_F}{t_{F,f}} \min\left(1/4, \hat\sigma^2_{F,f}
        + \sqrt{2 \ln T_F / t_{F,f}}\right)},

    where g and l are the mean rewards of all games, and of those through F, that used feature f (rapid action
    values), with :math:`\alpha = c / (c + t_{F,f})` and :math:`\beta = c_l / (c_l + t_l)`. In a subset seen T
    times only the :math:`\lfloor T^b \rfloor` most promising moves are considered.

    A comparator of the ACP paper. For tables of some hundred rows and at most a few hundred features, where
    features matter together; each game is O(m n k). Not meant for telling weak features from noise: the
    reward of a subset is noisy, and nothing but "stop" prices a feature. `REVS` and `ActorCriticPredictor`
    are more exact.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}, default="auto"
        What y is; numbers are judged by concordance, which the paper does not have.
    n_features_to_select : int or "auto", default="auto"
        "auto" takes the path of the moves that were played most often; a number takes the features of the
        largest global rapid values (the paper's ranking).
    n_games : int, default=5000
        Games to play.
    n_neighbors : int, default=5
        Neighbours that score a row.
    n_judged : int, default=50
        Rows that are scored in a game.
    exploration : float, default=0.1
        :math:`c_e`.
    widening : float, default=0.5
        b, above 0 and at most 1.
    continuation : float, default=0.9
        Below the known subsets a game of d features ends with probability 1 minus this to the power of d.
        Hundreds of features want longer games, such as those of 0.99, since few games have a given feature.
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
    rapid_values_ : array of shape (n_features,)
        Mean reward of all games that used a feature; NaN for one that is constant or a copy.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best: selected features first, then by rapid value.
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
    Read from the description of [1]_, whose constants vary by data set. Ours: c = c_l = 20; equal scores of
    neighbours count one half of a pair; rapid values of "stop" are those of games that ended with as many
    features; subsets reached by different orders share what is known of them.

    References
    ----------
    .. [1] R. Gaudel, M. Sebag (2010), "Feature selection as a one-player game", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.subset import FUSE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = X[:, 1] * X[:, 4] > 0
    >>> FUSE(n_features_to_select=2, n_games=500, random_state=0).fit(X, y).get_support(indices=True)
    array([1, 4])
    """

    _worth_name = "rapid_values_"
    _options: ClassVar = {
        **GameSelector._options,
        "widening": number("a number above 0 and at most 1", above=0.0, most=1.0),
        "continuation": number("a number between 0 and 1", above=0.0, below=1.0),
    }

    def __init__(
        self,
        *,
        task: Literal["auto", "regression", "classification"] = "auto",
        n_features_to_select: int | Literal["auto"] = "auto",
        n_games: int = 5000,
        n_neighbors: int = 5,
        n_judged: int = 50,
        exploration: float = 0.1,
        widening: float = 0.5,
        continuation: float = 0.9,
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
        self.widening = widening
        self.continuation = continuation
        self.missing = missing
        self.transform_as = transform_as
        self.time_budget = time_budget
        self.random_state = random_state

    def _player(self, problem: RivalProblem, reward: NeighbourReward, rng: np.random.Generator) -> Any:
        return UpperConfidenceTree(
            len(problem.allowed),
            reward,
            rng,
            exploration=self.exploration,
            widening=self.widening,
            continuation=self.continuation,
        )

    def _choose(self, player: UpperConfidenceTree, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.isin(np.arange(len(values)), player.best_path())

    def _worth_words(self) -> str:
        return "Mean reward of games with it"

    def _worth_note(self) -> str:
        return (
            "Reward: share of pairs of rows that are put into the right order by the rows most like them, "
            "from 0.5 (chance) to 1; here the mean over all sets that were tried with the variable."
        )
