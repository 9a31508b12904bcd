"""What a user writes: mypy must know every name and type in it (see test_user_script.py); it also runs."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rlselect
from rlselect import REVS, DatumwiseClassifier, QLearning, TrialData
from rlselect.preflight import DataCheck
from rlselect.report import Summary, to_html


def select(X: NDArray[np.float64], y: NDArray[np.float64], folder: Path) -> Path:
    """Look, select, and write a page."""
    found: DataCheck = rlselect.check(X, y)
    method: str = found.recommendation.method
    if method != "REVS" or found.problems:
        raise SystemExit(str(found))
    selector: REVS = REVS(missing="error", random_state=0).fit(X, y)
    account: Summary = selector.report(folder / "report.html", X=X, y=y)
    short: REVS = REVS(max_features=1, random_state=0).fit(X, y)
    both: Summary = rlselect.report([selector, short])
    (folder / "both.html").write_text(to_html(both.dict))
    return account.save(folder / "report.md").with_suffix(".html")


def decide(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.object_]:
    """Learn what to do from a randomised trial of one stage."""
    action = rng.choice(["drug", "rest"], len(X))
    reward = np.where(action == "drug", X[:, 0], -X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    columns = {"x": X[:, 0], "z": X[:, 1], "action": action, "reward": reward}
    stage = {"history": ["x", "z"], "action": "action", "reward": "reward", "propensity": "1:1"}
    learner: QLearning = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(columns, [stage]))
    return learner.predict({"x": np.array([2.0, -2.0]), "z": np.zeros(2)})


def main(folder: Path) -> None:
    """Do all of it on a few simulated rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    print(select(X, X[:, 0] + 0.5 * rng.standard_normal(120), folder).name)
    print(decide(X, rng).tolist())
    classifier = DatumwiseClassifier(feature_cost=0.05, scoring="bins", random_state=0)
    print(classifier.fit(X, X[:, 1] > 0).acquire(X[:5]).shape)


if __name__ == "__main__":
    main(Path("."))
