"""What FUSE and FSTD share: features are chosen by playing many games over subsets."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import PARTS, Clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._options import AUTO, Allowed, number, one_of, whole
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import TASKS
from rlselect.report import PathWords
from rlselect.subset.rivals._neighbours import NeighbourReward
from rlselect.subset.rivals._rival import RivalProblem, RivalSelector, read_problem


class GameSelector(RivalSelector):
    """Plays games over subsets until they are played or the time is up; it adds `_play`."""

    _options: ClassVar[Mapping[str, Allowed]] = {
        "task": one_of(*TASKS),
        "n_features_to_select": AUTO | whole(1),
        "n_games": whole(1, most=1_000_000),
        "n_neighbors": whole(1),
        "n_judged": whole(2),
        "exploration": number("a number of at least 0", least=0.0),
        **RivalSelector._options,
    }
    task: str
    n_features_to_select: Any
    n_games: int
    n_neighbors: int
    n_judged: int
    time_budget: float | None
    random_state: RandomState
    _path_words = PathWords("game", {"score": "reward of the game", "size": "features in the game"})

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Play the games.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Text and categorical columns become indicators that enter together. A source, such as a path, is
            loaded.
        y : array-like of shape (n_samples,) or str
            Target, or the name of its column in X.

        Returns
        -------
        self
            Fitted, also when it was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y)

    def _fit(self, progress: Progress, X: Any, y: Any) -> None:
        name = type(self).__name__
        rng = as_generator(self.random_state)
        table = self._open(X, y)
        problem = read_problem(table, self.task, name)
        reward = NeighbourReward(problem, self.n_neighbors, self.n_judged, rng)
        games, reason = list[tuple[int, float]](), None
        with one_thread(), Clock(self.time_budget, self.n_games, progress.begin(PARTS)) as clock:
            player = self._player(problem, reward, rng)
            while reason is None and len(games) < self.n_games and len(problem.allowed):
                # one game, one draw of the rows it is judged by
                reward.deal()
                subset, worth = player.play()
                games.append((len(subset), worth))
                reason = clock.tick()
        self.n_games_ = len(games)
        self.path_ = {
            "size": np.array([size for size, _ in games], dtype=np.intp),
            "score": np.array([worth for _, worth in games], dtype=np.float64),
        }
        done = "all games" if len(problem.allowed) else "nothing to choose from"
        self.stop_reason_ = reason or done
        warn_if_interrupted(self.stop_reason_, name, f"{self.n_games_} games")
        self._keep_table(table, problem.classes)
        self._keep(problem, player)

    def _player(self, problem: RivalProblem, reward: NeighbourReward, rng: np.random.Generator) -> Any:
        """Who plays."""
        raise NotImplementedError

    def _choose(self, player: Any, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which units ``n_features_to_select="auto"`` takes, given what each is worth."""
        raise NotImplementedError

    def _keep(self, problem: RivalProblem, player: Any) -> None:
        values = np.where(player.units.count > 0, player.units.mean, -np.inf)
        if self.n_features_to_select == "auto":
            chosen = self._choose(player, values)
        else:
            chosen = np.zeros(len(values), dtype=bool)
            chosen[np.argsort(-values, kind="stable")[: self.n_features_to_select]] = True
        self._keep_selection(problem, chosen, values)

    def _asks_chance(self) -> bool:
        return False

    def _facts(self) -> dict[str, Any]:
        return {"Games": self.n_games_, "Rows judged in a game": self.n_judged}
