"""Designs for time budgets that nobody chose: estimator, mode, shape, outcome and options drawn at random."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.svm import SVC, SVR

import rlselect
from rlselect.subset import FalseDiscovery

# cells of a table, at most: what is read and held before the clock says anything stays small
CELLS = 5_000_000


@dataclass
class Drawn:
    """An estimator in words, the design in words, and how both are made."""

    name: str
    design: str
    make: Callable[[float | None], Any]
    data: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]


@dataclass
class Table:
    """Rows, columns, outcome; `levels` are those of two columns of text, none where it is 0."""

    rng: np.random.Generator
    n: int
    p: int
    levels: int = 0
    words: list[str] = field(default_factory=list)

    def make(self) -> tuple[Any, np.ndarray]:
        """Columns, and what three of them add up to beside a product and noise."""
        X = self.rng.standard_normal((self.n, self.p))
        score = X[:, 0] + X[:, 1] * X[:, 2] - X[:, -1] + 0.5 * self.rng.standard_normal(self.n)
        if not self.levels:
            return X, score
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(self.p)])
        for name in "ab":
            frame[name] = pd.Categorical([f"{name}{k}" for k in self.rng.integers(0, self.levels, self.n)])
        return frame, score

    def described(self) -> str:
        """For people."""
        return f"{self.n} x {self.p}" + (f", 2 x {self.levels} levels" if self.levels else "")


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    """One of them."""
    return choices[rng.integers(len(choices))]


def table(rng: np.random.Generator, rows: float = 5.0, columns: float = 4.3, levels: float = 0.15) -> Table:
    """A shape, even in powers of ten up to these, small enough to hold."""
    p = int(10 ** rng.uniform(0.7, columns))
    n = int(min(10 ** rng.uniform(1.8, rows), max(CELLS / p, 60)))
    return Table(rng, n, p, int(10 ** rng.uniform(1.0, 2.8)) if rng.random() < levels else 0)


def outcome(kind: str, score: np.ndarray, rng: np.random.Generator, k: int) -> Any:
    """A target of this kind that follows the score; `k` classes, levels or responses."""
    if kind == "counts":
        return rng.poisson(np.exp(np.clip(0.5 * score, -3.0, 3.0)))
    if kind in ("classes", "ordered"):
        edges = np.quantile(score, np.linspace(0, 1, k + 1)[1:-1])
        found = np.searchsorted(edges, score)
        return found if kind == "ordered" else np.array([f"c{j}" for j in range(k)])[found]
    if kind == "times":
        return {
            "time": np.exp(-0.5 * score) * rng.exponential(size=len(score)) + 0.01,
            "event": rng.random(len(score)) < 0.8,
        }
    if kind == "several":
        return score[:, None] * np.linspace(1, 0, k) + rng.standard_normal((len(score), k))
    return score


def seeded(kind: Any, options: dict[str, Any]) -> Callable[[float | None], Any]:
    """How an estimator with these options is made for a budget."""
    return lambda budget: kind(time_budget=budget, random_state=0, **options)


def worded(options: dict[str, Any]) -> str:
    """Options for people."""
    return ", ".join(
        f"{name}={value if isinstance(value, (str, int, float)) else type(value).__name__}"
        for name, value in options.items()
    )


def rows_of(
    name: str,
    make: Callable[[float | None], Any],
    shape: Table,
    kind: str,
    k: int,
    options: dict[str, Any],
    more: Callable[[int], dict[str, Any]] = lambda n: {},
) -> Drawn:
    """An estimator of rows."""

    def data() -> tuple[tuple[Any, ...], dict[str, Any]]:
        X, score = shape.make()
        return (X, outcome(kind, score, shape.rng, k)), more(shape.n)

    said = f"{shape.described()}, {kind}" + (f" ({k})" if kind in ("classes", "ordered", "several") else "")
    return Drawn(name, ", ".join([said, *shape.words, *([worded(options)] if options else [])]), make, data)


def revs(rng: np.random.Generator) -> Drawn:
    """REVS: families, clusters, series, several responses, products, structure, inference."""
    shape = table(rng)
    kind = pick(rng, "numbers", "classes", "classes", "counts", "ordered", "times", "several")
    k = int(pick(rng, 2, 3, 5, 8, 15))
    options: dict[str, Any] = {}
    if kind == "ordered":
        k, options["family"] = max(k, 3), "ordinal"
    if kind == "counts":
        options["family"] = pick(rng, "poisson", "negative_binomial")
    if kind == "several":
        options["responses"] = pick(rng, "shared", "each")
    more: Callable[[int], dict[str, Any]] = lambda n: {}  # noqa: E731
    extra = pick(
        rng,
        "",
        "",
        "clusters",
        "clusters",
        "series",
        "order",
        "split",
        "rule",
        "most",
        "signs",
        "policy",
        "groups",
        "weights",
        "min_effect",
    )
    if extra == "clusters":
        size = int(pick(rng, 2, 5, 40))
        shape.words.append(f"clusters of {size}")
        more = lambda n: {"groups": np.arange(n) // size}  # noqa: E731
    elif extra == "series" and kind != "several":
        options["time_ordered"] = True
    elif extra == "order":
        shape.p, options["order"] = min(shape.p, 150), 2
    elif extra == "split":
        options["inference"] = "split"
    elif extra == "rule":
        options["rule"] = pick(rng, "f1", FalseDiscovery(0.1))
    elif extra == "most":
        options["max_features"] = 3
    elif extra == "signs":
        options["signs"] = "+"
    elif extra == "policy":
        options["policy"] = pick(rng, "ucb", "thompson", "softmax", "epsilon-greedy")
    elif extra == "groups" and not shape.levels:
        options["feature_groups"] = [list(range(j, min(j + 5, shape.p))) for j in range(0, shape.p, 5)]
    elif extra == "weights":
        shape.words.append("weights")
        more = lambda n: {"sample_weight": rng.integers(1, 4, n)}  # noqa: E731
    elif extra == "min_effect":
        options["min_effect"] = 0.1
    return rows_of("REVS", seeded(rlselect.REVS, options), shape, kind, k, options, more)


def revs_paper(rng: np.random.Generator) -> Drawn:
    """REVS as in its paper."""
    shape, kind = table(rng, columns=3.0), pick(rng, "numbers", "classes", "counts")
    options = {"family": "poisson"} if kind == "counts" else {}
    return rows_of("REVS.paper", seeded(rlselect.REVS.paper, options), shape, kind, 2, options)


def acp(rng: np.random.Generator) -> Drawn:
    """Predictors of every kind."""
    kind = pick(rng, "numbers", "classes", "classes", "several")
    k = int(pick(rng, 2, 3, 8, 15))
    options: dict[str, Any] = {
        "predictor": pick(rng, "auto", "auto", "linear", "kernel", "network", "forest")
    }
    shape = table(rng)
    if options["predictor"] == "forest":
        forest = RandomForestClassifier if kind == "classes" else RandomForestRegressor
        options["predictor"] = forest(20, random_state=0)
        shape = table(rng, 4.0, 2.5)
    paper = rng.random() < 0.15
    owner = rlselect.ActorCriticPredictor.paper if paper else rlselect.ActorCriticPredictor
    if paper and options["predictor"] == "auto":
        options = {}
    return rows_of("ACP.paper" if paper else "ACP", seeded(owner, options), shape, kind, k, options)


def risk_rfe(rng: np.random.Generator) -> Drawn:
    """Losses, kernels, stopping rules, and estimators of others."""
    kind = pick(rng, "numbers", "classes", "classes", "several")
    k = int(pick(rng, 2, 2, 3, 8, 15))
    options: dict[str, Any] = {}
    shape = table(rng)
    if rng.random() < 0.2:
        pairs = {
            "numbers": (RandomForestRegressor(20, random_state=0), SVR()),
            "classes": (RandomForestClassifier(20, random_state=0), SVC(), LogisticRegression()),
        }
        kind = "classes" if kind == "several" else kind
        options["estimator"] = pick(rng, *pairs[kind])
        shape = table(rng, 4.0, 2.5)
    else:
        if kind == "classes" and k == 2:
            options["loss"] = pick(rng, "auto", "hinge", "logistic", "squared_label")
        elif kind == "numbers":
            options["loss"] = pick(rng, "auto", "squared", "epsilon_insensitive")
        options["kernel"] = pick(rng, "auto", "rbf", "anova", "linear", "poly")
        extra = pick(rng, "", "", "stopping", "criterion", "step", "landmarks", "groups")
        if extra == "stopping":
            options["stopping"] = pick(rng, "loo-2se", "change-point", "held-out", 3)
        elif extra == "criterion":
            options["criterion"] = "norm"
        elif extra == "step":
            options["step"] = 0.2
        elif extra == "landmarks":
            options["n_landmarks"] = None if shape.n < 5000 else 500
        elif extra == "groups" and not shape.levels:
            options["feature_groups"] = [list(range(j, min(j + 5, shape.p))) for j in range(0, shape.p, 5)]
    paper = rng.random() < 0.1 and "estimator" not in options and kind == "classes" and k == 2
    if paper:
        shape, options = table(rng, 4.0, 3.0), {}
    owner = rlselect.RiskRFE.paper if paper else rlselect.RiskRFE
    return rows_of("RiskRFE.paper" if paper else "RiskRFE", seeded(owner, options), shape, kind, k, options)


def datumwise(rng: np.random.Generator) -> Drawn:
    """Classifier and regressor, all scores, groups and budgets."""
    shape, options = table(rng), {}
    k = int(pick(rng, 2, 3, 8, 15))
    options["scoring"] = pick(rng, "auto", "bins", "linear", "network")
    extra = pick(rng, "", "", "budget", "groups", "costs", "paper", "weights")
    if extra == "budget":
        options["budget"] = 3
    elif extra == "groups" and not shape.levels:
        options["feature_groups"] = [list(range(j, min(j + 5, shape.p))) for j in range(0, shape.p, 5)]
    elif extra == "costs" and not shape.levels:
        options["costs"] = np.linspace(0.5, 2.0, shape.p)
    more = (lambda n: {"sample_weight": rng.integers(1, 4, n)}) if extra == "weights" else (lambda n: {})
    if extra == "paper":
        return rows_of(
            "Datumwise.paper", seeded(rlselect.DatumwiseClassifier.paper, {}), shape, "classes", k, {}
        )
    if rng.random() < 0.4:
        return rows_of(
            "DatumwiseRegressor",
            seeded(rlselect.DatumwiseRegressor, options),
            shape,
            "numbers",
            k,
            options,
            more,
        )
    return rows_of(
        "Datumwise", seeded(rlselect.DatumwiseClassifier, options), shape, "classes", k, options, more
    )


def rival(rng: np.random.Generator) -> Drawn:
    """Thompson sampling, FSTD, FUSE, correlations, votes of parts."""
    kind, k = pick(rng, "numbers", "classes"), int(pick(rng, 2, 3, 8, 15))
    shape = table(rng)
    name = pick(rng, "ThompsonSelector", "FSTD", "FUSE", "CorrelationFeatureSelection", "DivideAndConquer")
    options: dict[str, Any] = {}
    if name == "ThompsonSelector":
        options["reward"] = pick(rng, "linear", "trees")
    if name == "DivideAndConquer":
        selectors = [
            rlselect.REVS(random_state=0),
            rlselect.RiskRFE(random_state=0),
            rlselect.ActorCriticPredictor(random_state=0),
        ]
        options["estimator"] = pick(rng, *selectors, *([LassoCV(cv=3)] if kind == "numbers" else []))
    if name == "CorrelationFeatureSelection":
        return rows_of(
            name, lambda budget: rlselect.CorrelationFeatureSelection(time_budget=budget), shape, kind, k, {}
        )
    return rows_of(name, seeded(getattr(rlselect, name), options), shape, kind, k, options)


def regimes(rng: np.random.Generator) -> Drawn:
    """Trials of one to three stages, arms or doses, with all ways to select."""
    shape = table(rng, 5.0, 2.3, 0.0)
    stages, arms = int(pick(rng, 1, 2, 2, 3)), int(pick(rng, 2, 2, 3, 5))
    name = pick(rng, "QLearning", "QLearning", "AdvantageLearning")
    models = ("auto", "auto", "linear", "rbf", "anova") + (("trees",) if name == "QLearning" else ())
    ways = ("loo", "loo", "rfe", "rfe-test", None) + (
        ("rfe-vpred", "rfe-vstage") if name == "QLearning" else ()
    )
    options = {"model": pick(rng, *models), "selection": pick(rng, *ways)}
    kind = pick(rng, "number", "number", "binary", "count", "dose") if name == "QLearning" else "number"

    def data() -> tuple[tuple[Any, ...], dict[str, Any]]:
        n, p = shape.n, shape.p
        X = rng.standard_normal((n, p))
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(p)}
        parts = []
        for stage in range(stages):
            action = rng.uniform(-1, 1, n) if kind == "dose" else rng.integers(0, arms, n)
            reward = X[:, 0] + (2.0 * action - 1.0) * X[:, 1] + rng.standard_normal(n)
            reward = (
                (reward > 0) * 1
                if kind == "binary"
                else rng.poisson(np.exp(np.clip(reward, -3, 2)))
                if kind == "count"
                else reward
            )
            columns |= {f"A{stage}": action, f"R{stage}": reward}
            history = list(columns)[:p] if stage == 0 else []
            parts.append(
                {"history": history, "action": f"A{stage}", "reward": f"R{stage}"}
                | ({"action_type": "dose"} if kind == "dose" else {})
            )
        given = {"reward_type": kind} if kind in ("binary", "count") else {}
        return (rlselect.TrialData.from_wide(columns, parts, **given),), {}

    design = (
        f"{shape.described()}, {stages} stages, "
        + ("doses" if kind == "dose" else f"{arms} arms, {kind}")
        + f", {worded(options)}"
    )
    return Drawn(name, design, seeded(getattr(rlselect, name), options), data)


def curves(rng: np.random.Generator) -> Drawn:
    """Effect curves: links, bandwidths, splines, visits."""
    n, times, p = (
        int(10 ** rng.uniform(1.3, 4.0)),
        int(10 ** rng.uniform(0.7, 2.5)),
        int(10 ** rng.uniform(0.0, 1.5)),
    )
    n = max(int(min(n, CELLS / times / p)), 20)
    link = pick(rng, "identity", "identity", "logit", "log", "probit", "cloglog")
    options: dict[str, Any] = {"link": link}
    way = pick(rng, "", "bandwidth", "cv", "cv-times", "splines", "local", "local cv", "carry", "bin")
    if way == "bandwidth":
        options["bandwidth"] = 0.1 * times
    elif way in ("cv", "cv-times"):
        options["bandwidth"] = way
    elif way == "splines":
        options["n_splines"] = 8
    elif way.startswith("local"):
        options |= {
            "visits": "local",
            "grid": int(pick(rng, 10, 40)),
            "bandwidth": "cv" if "cv" in way else 0.1 * times,
        }
    elif way == "carry":
        options["visits"] = "carry"
    elif way == "bin":
        options |= {"visits": "bin", "grid": 10}
    cluster = rng.random() < 0.2

    def data() -> tuple[tuple[Any, ...], dict[str, Any]]:
        X = rng.standard_normal((n * times, p))
        score = 0.5 * X[:, 0] + 0.1 * rng.standard_normal(n * times)
        y = score + rng.standard_normal(n * times)
        if link in ("logit", "probit", "cloglog"):
            y = (rng.random(n * times) < 1 / (1 + np.exp(-score))).astype(float)
        elif link == "log":
            y = rng.poisson(np.exp(score)).astype(float)
        when = np.tile(np.arange(times), n).astype(float)
        if way.startswith("local"):
            when += rng.uniform(-0.4, 0.4, n * times)
        given = {"id": np.repeat(np.arange(n), times), "time": when}
        if cluster:
            given["cluster"] = np.repeat(np.arange(n), times) // 5
        return (X, y), given

    design = f"{n} subjects, {times} times, {p} columns, {worded(options)}" + (
        ", clusters" if cluster else ""
    )
    return Drawn(
        "TemporalProcessRegression",
        design,
        lambda budget: rlselect.TemporalProcessRegression(time_budget=budget, **options),
        data,
    )


KINDS = {
    "revs": revs,
    "revs_paper": revs_paper,
    "acp": acp,
    "risk_rfe": risk_rfe,
    "datumwise": datumwise,
    "rival": rival,
    "regimes": regimes,
    "curves": curves,
}
_OFTEN = {
    "revs": 5,
    "revs_paper": 1,
    "acp": 3,
    "risk_rfe": 4,
    "datumwise": 3,
    "rival": 2,
    "regimes": 4,
    "curves": 2,
}


def draw(seed: int, number: int) -> tuple[Drawn, float]:
    """A design and its budget in seconds, the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    kinds = [kind for kind, often in _OFTEN.items() for _ in range(often)]
    return KINDS[pick(rng, *kinds)](rng), float(pick(rng, 1.0, 2.0, 3.0))
