"""Every estimator with the modes the fuzzer tries, and how each is fitted and asked."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlselect import (
    FSTD,
    FUSE,
    REVS,
    ActorCriticPredictor,
    AdvantageLearning,
    CorrelationFeatureSelection,
    DatumwiseClassifier,
    DivideAndConquer,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    ThompsonSelector,
    TrialData,
)
from rlselect.datumwise import DatumwiseRegressor, PolicyIteration
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

# rows of each subject in the long data of curves
VISITS = 3
# from which one plain effect must be found; a class or a count tells less than a number does, and the prior
# of logistic and Poisson coefficients, N(0, .03) on the standardised scale, believes no large one earlier
ROWS, ROWS_OF_CLASSES = 24, 50


def fit_rows(estimator, X, y, weight):
    given = {} if weight is None else {"sample_weight": weight}
    return estimator.fit(X, y, **given), X


def fit_times(estimator, X, y, weight, **more):
    """Numbers as times from the smallest one on, nine of ten with an event; others as they are."""
    if type(y) is np.ndarray and y.dtype.kind in "fiu" and y.ndim == 1:
        y = y - y.min(initial=0)
    times = {"time": y, "event": np.arange(_n_rows(y)) % 10 > 0}
    given = more if weight is None else {"sample_weight": weight, **more}
    return estimator.fit(X, times, **given), X


def fit_clustered_times(estimator, X, y, weight):
    """As `fit_times`, four rows to a cluster."""
    return fit_times(estimator, X, y, weight, groups=np.arange(_n_rows(y)) // 4)


def fit_clusters(estimator, X, y, weight):
    """Four rows to a cluster, the last one smaller."""
    given = {} if weight is None else {"sample_weight": weight}
    return estimator.fit(X, y, groups=np.arange(_n_rows(y)) // 4, **given), X


def _n_rows(y):
    """Of arrays, frames and lists, ragged ones too; none of what is no table."""
    if hasattr(y, "shape"):
        return y.shape[0] if y.shape else 0
    return len(y) if isinstance(y, list) else 0


def fit_several(estimator, X, y, weight):
    """The target, and beside it the same one backwards."""
    values = y if isinstance(y, np.ndarray) else np.array(y, dtype=object) if isinstance(y, list) else y
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.names is None:
        y = np.column_stack([values, values[::-1]])
    given = {} if weight is None else {"sample_weight": weight}
    return estimator.fit(X, y, **given), X


def _named(X):
    """Arrays as columns with names, which is what a trial is made of."""
    if isinstance(X, list):
        X = np.array(X, dtype=object)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return {f"c{j}": np.asarray(X)[:, j] for j in range(X.shape[1])}
    return X


def fit_trial(estimator, X, y, weight):
    """One stage: actions come in turns, the target is the reward."""
    table = _named(X)
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None:
        names = table if isinstance(table, dict) else ["c0"]
    n = max(np.shape(y), default=1)
    stage = {"history": [str(name) for name in names], "action": np.arange(n) // 2 % 2, "reward": y}
    trial = TrialData.from_wide(table, [stage])
    return estimator.fit(trial), trial


def fit_visits(estimator, X, y, weight):
    """Rows are visits, a few of each subject."""
    n = max(np.shape(y), default=1)
    given = {} if weight is None else {"sample_weight": weight}
    rows = np.arange(n)
    return estimator.fit(X, y, id=rows // VISITS, time=rows % VISITS, **given), X


def ask_rows(estimator, X):
    predict = getattr(estimator, "predict", None)
    return {} if predict is None else {"predictions": np.asarray(predict(X))}


def ask_trial(estimator, trial):
    return {"decisions": estimator.predict(trial, stage=1), "value": np.array([estimator.value_.value])}


def ask_visits(estimator, X):
    sound = np.array([flag is None for flag in estimator.flags_])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        warnings.simplefilter("ignore", FlaggedTimeWarning)
        lower, upper = (side.to_numpy()[sound] for side in estimator.conf_int())
    # one subject alone leaves no degree of freedom, few visits do not tell the bias of local estimation
    assert ((lower <= upper) | (np.isnan(lower) & (estimator.visits == "local"))).all()
    return {"curves": estimator.coef_.to_numpy()[sound], "errors": estimator.se_.to_numpy()[sound]}


@dataclass(frozen=True)
class Mode:
    """One way to use an estimator.

    `target` is what it learns; `keeps` are the changes of the data that leave its answer as it is. `sparse`
    says whether it takes sparse tables: "yes", "no", or "apart" where zeros that are not stored mean
    something. `separable`: whether classes that columns tell apart without error are rightly refused. `finds`
    is the number of rows from which on it must find one plain effect: no number where none is promised (a few
    steps of a search, a mode of a paper).
    """

    owner: str
    make: Callable[..., Any]
    target: str = "numbers"
    fit: Callable[..., Any] = fit_rows
    ask: Callable[..., dict] = ask_rows
    weighted: bool = False
    finds: float = math.inf
    sparse: str = "yes"
    separable: bool = False
    keeps: frozenset = field(default_factory=frozenset)


def seeded(kind, **defaults):
    return lambda **options: kind(**{"random_state": 0, **defaults, **options})


def free(kind, **defaults):
    return lambda **options: kind(**{**defaults, **options})


def of_trials(owner, make):
    """A learner of regimes."""
    return Mode(owner, make, fit=fit_trial, sparse="no", ask=ask_trial, keeps=_SAME)


def of_visits(target="numbers", separable=False, **options):
    """Effect curves."""
    return Mode(
        "TemporalProcessRegression",
        free(TemporalProcessRegression, **options),
        target,
        separable=separable,
        fit=fit_visits,
        sparse="no",
        ask=ask_visits,
        weighted=True,
        keeps=_SAME | {"columns"},
    )


_ALL = frozenset({"rows", "columns", "copies", "units", "container", "again"})
_SAME = frozenset({"container", "again"})
_SHORT = {"n_train": 10, "n_valid": 5, "n_preliminary": 5, "max_stages": 10}
_FEW = {"max_iter": 15}
_BRIEF = PolicyIteration(n_iter=2, n_restarts=1)
MODES = {
    "REVS": Mode("REVS", seeded(REVS), weighted=True, finds=ROWS, keeps=_ALL),
    "REVS, classes": Mode("REVS", seeded(REVS), "classes", weighted=True, finds=ROWS_OF_CLASSES, keeps=_ALL),
    "REVS, counts": Mode(
        "REVS", seeded(REVS, family="poisson"), "counts", weighted=True, finds=ROWS_OF_CLASSES, keeps=_ALL
    ),
    "REVS, many classes": Mode(
        "REVS",
        seeded(REVS, family="multinomial"),
        "classes",
        weighted=True,
        finds=ROWS_OF_CLASSES,
        keeps=_ALL,
    ),
    "REVS, times": Mode("REVS", seeded(REVS, family="cox"), fit=fit_times, weighted=True, keeps=_SAME),
    "REVS, clusters": Mode("REVS", seeded(REVS), fit=fit_clusters, weighted=True, keeps=_SAME),
    "REVS, clusters of classes": Mode(
        "REVS", seeded(REVS), "classes", fit=fit_clusters, weighted=True, keeps=_SAME
    ),
    "REVS, clusters of counts": Mode(
        "REVS", seeded(REVS, family="poisson"), "counts", fit=fit_clusters, weighted=True, keeps=_SAME
    ),
    "REVS, clusters of many classes": Mode(
        "REVS", seeded(REVS, family="multinomial"), "classes", fit=fit_clusters, weighted=True, keeps=_SAME
    ),
    "REVS, clusters of ordered classes": Mode(
        "REVS", seeded(REVS, family="ordinal"), "counts", fit=fit_clusters, weighted=True, keeps=_SAME
    ),
    "REVS, clusters of times": Mode(
        "REVS", seeded(REVS, family="cox"), fit=fit_clustered_times, weighted=True, keeps=_SAME
    ),
    "REVS, many classes in time": Mode(
        "REVS", seeded(REVS, family="multinomial", time_ordered=True), "classes", weighted=True, keeps=_SAME
    ),
    "REVS, in time": Mode("REVS", seeded(REVS, time_ordered=True), weighted=True, keeps=_SAME),
    "REVS, clusters and products": Mode(
        "REVS", seeded(REVS, order=2), fit=fit_clusters, weighted=True, keeps=_SAME
    ),
    "REVS, two responses": Mode("REVS", seeded(REVS), fit=fit_several, weighted=True, keeps=_SAME),
    "REVS, two responses of classes": Mode(
        "REVS", seeded(REVS), "classes", fit=fit_several, weighted=True, keeps=_SAME
    ),
    "REVS, one for each of two responses": Mode(
        "REVS", seeded(REVS, responses="each"), fit=fit_several, weighted=True, keeps=_SAME
    ),
    "REVS, gaps": Mode("REVS", seeded(REVS, missing="indicator"), weighted=True, finds=ROWS, keeps=_ALL),
    "REVS, rows dropped": Mode("REVS", seeded(REVS, missing="drop"), weighted=True, keeps=_ALL),
    "REVS, two at most": Mode(
        "REVS", seeded(REVS, max_features=2, at_most={(0,): 1}), weighted=True, finds=ROWS, keeps=_SAME
    ),
    "REVS, signs": Mode("REVS", seeded(REVS, signs="+"), weighted=True, keeps=_SAME),
    "REVS, products": Mode("REVS", seeded(REVS, order=2), weighted=True, keeps=_SAME),
    "REVS, UCB": Mode("REVS", seeded(REVS, policy="ucb"), weighted=True, keeps=_SAME),
    "REVS.paper": Mode("REVS", seeded(REVS.paper, **_SHORT), keeps=_SAME),
    "REVS.paper, classes": Mode("REVS", seeded(REVS.paper, **_SHORT), "classes", keeps=_SAME),
    "ACP": Mode("ActorCriticPredictor", seeded(ActorCriticPredictor, **_FEW), keeps=_SAME),
    "ACP, linear": Mode(
        "ActorCriticPredictor", seeded(ActorCriticPredictor, predictor="linear"), finds=ROWS, keeps=_SAME
    ),
    "ACP, classes": Mode(
        "ActorCriticPredictor", seeded(ActorCriticPredictor, **_FEW), "classes", keeps=_SAME
    ),
    "ACP.paper": Mode(
        "ActorCriticPredictor", seeded(ActorCriticPredictor.paper, predictor="linear", **_FEW), keeps=_SAME
    ),
    "ACP, eager": Mode(
        "ActorCriticPredictor",
        seeded(ActorCriticPredictor, predictor="linear", false_alarm=0.2, **_FEW),
        keeps=_SAME,
    ),
    "ActorCriticPredictor, two responses": Mode(
        "ActorCriticPredictor",
        seeded(ActorCriticPredictor, predictor="linear", **_FEW),
        fit=fit_several,
        keeps=_SAME,
    ),
    "RiskRFE, two responses": Mode(
        "RiskRFE", seeded(RiskRFE, kernel="linear"), fit=fit_several, weighted=True, keeps=_SAME
    ),
    "RiskRFE": Mode("RiskRFE", seeded(RiskRFE), sparse="no", weighted=True, finds=ROWS, keeps=_ALL),
    "RiskRFE, classes": Mode("RiskRFE", seeded(RiskRFE), "classes", sparse="no", weighted=True, keeps=_ALL),
    "RiskRFE, linear": Mode("RiskRFE", seeded(RiskRFE, kernel="linear"), weighted=True, keeps=_ALL),
    "RiskRFE, hinge": Mode("RiskRFE", seeded(RiskRFE, loss="hinge", kernel="linear"), "classes", keeps=_SAME),
    "RiskRFE, gaps": Mode(
        "RiskRFE", seeded(RiskRFE, missing="indicator"), sparse="no", weighted=True, keeps=_ALL
    ),
    "RiskRFE.paper": Mode("RiskRFE", seeded(RiskRFE.paper), "classes", sparse="no", keeps=_SAME),
    "Datumwise": Mode(
        "DatumwiseClassifier",
        seeded(DatumwiseClassifier, search=_BRIEF),
        "classes",
        sparse="apart",
        weighted=True,
        keeps=_ALL - {"columns"},
    ),
    "Datumwise, numbers": Mode(
        "DatumwiseRegressor",
        seeded(DatumwiseRegressor, scoring="bins", search=_BRIEF),
        sparse="apart",
        weighted=True,
        keeps=_SAME | {"copies", "units"},
    ),
    "Datumwise, linear": Mode(
        "DatumwiseClassifier",
        seeded(DatumwiseClassifier, scoring="linear", search=_BRIEF),
        "classes",
        sparse="apart",
        weighted=True,
        keeps=_SAME,
    ),
    "Datumwise.paper": Mode(
        "DatumwiseClassifier", seeded(DatumwiseClassifier.paper), "classes", sparse="apart", keeps=_SAME
    ),
    "QLearning": of_trials("QLearning", seeded(QLearning)),
    "QLearning, linear": of_trials("QLearning", seeded(QLearning, model="linear")),
    "QLearning.paper": of_trials("QLearning", seeded(QLearning.paper)),
    "AdvantageLearning": of_trials("AdvantageLearning", seeded(AdvantageLearning)),
    "Curves": of_visits(),
    "Curves, logit": of_visits("truths", separable=True, link="logit"),
    "Curves, log": of_visits("counts", separable=True, link="log"),
    "Curves, smooth": of_visits(bandwidth=1.0),
    "Curves, carried": of_visits(visits="carry"),
    "Curves, bins": of_visits(visits="bin", grid=2),
    "Curves, local": of_visits(visits="local", grid=[0, 1, 2], bandwidth=1.6),
    "DivideAndConquer": Mode(
        "DivideAndConquer",
        seeded(DivideAndConquer, estimator=REVS(random_state=0), n_folds=2),
        keeps=_SAME,
    ),
    "CorrelationFeatureSelection": Mode(
        "CorrelationFeatureSelection", free(CorrelationFeatureSelection), keeps=_SAME
    ),
    "FSTD": Mode("FSTD", seeded(FSTD, n_games=50), "classes", keeps=_SAME),
    "FUSE": Mode("FUSE", seeded(FUSE, n_games=50), "classes", keeps=_SAME),
    "ThompsonSelector": Mode("ThompsonSelector", seeded(ThompsonSelector, n_rounds=50), keeps=_SAME),
}
