"""What the estimators declare to take, they take; what they do not, they refuse, and say who takes it.

``python tests/test_capabilities.py`` writes the table into docs/capabilities.md again.
"""

import re
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect import (
    FSTD,
    FUSE,
    REVS,
    ActorCriticPredictor,
    AdvantageLearning,
    CorrelationFeatureSelection,
    DatumwiseClassifier,
    DatumwiseRegressor,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    ThompsonSelector,
    TrialData,
)
from rlselect._capabilities import ADVICE, DATA, OUTCOMES, Takes
from rlselect._overview import capabilities

PAGE = Path(__file__).resolve().parents[1] / "docs" / "capabilities.md"
MARKS = ("<!-- table: begin -->", "<!-- table: end -->")
N = 45
FAMILIES = {"ordered classes": "ordinal", "counts": "poisson"}
# a word and what it is in a signature
FIT_WORDS = {
    "sample weights": {"sample_weight"},
    "offsets": {"offset"},
    "clusters of rows": {"groups", "cluster"},
}
OPTION_WORDS = {
    "rows in time": "time_ordered",
    "feature groups": "feature_groups",
    "time budget": "time_budget",
    "checkpoint": "checkpoint",
}


def revs(word):
    return REVS(family=FAMILIES.get(word, "auto"), random_state=0)


def risk_rfe(word):
    # as its page says: sparse tables are for the linear kernel
    return RiskRFE(kernel="linear" if word == "sparse tables" else "rbf", stopping=2)


def thompson(word):
    reward = "trees" if word == "several classes" else "linear"
    return ThompsonSelector(reward=reward, n_rounds=10, n_trees=3, random_state=0)


def temporal(word):
    if word == "text columns":
        return TemporalProcessRegression("reward ~ a + d")
    return TemporalProcessRegression(link={"two classes": "logit", "counts": "log"}.get(word, "identity"))


MAKERS = {
    "REVS": revs,
    "ActorCriticPredictor": lambda _: ActorCriticPredictor(predictor="linear", random_state=0),
    "RiskRFE": risk_rfe,
    "DatumwiseClassifier": lambda _: DatumwiseClassifier(scoring="bins", time_budget=0.2, random_state=0),
    "DatumwiseRegressor": lambda _: DatumwiseRegressor(scoring="bins", time_budget=0.2, random_state=0),
    "QLearning": lambda _: QLearning(model="linear", random_state=0),
    "AdvantageLearning": lambda _: AdvantageLearning(model="linear", random_state=0),
    "TemporalProcessRegression": temporal,
    "ThompsonSelector": thompson,
    "FSTD": lambda _: FSTD(n_games=20, random_state=0),
    "FUSE": lambda _: FUSE(n_games=20, random_state=0),
    "CorrelationFeatureSelection": lambda _: CorrelationFeatureSelection(),
}
LEARNERS = ("QLearning", "AdvantageLearning")
# the others read their tables as one of these does
READERS = [name for name in MAKERS if name not in ("ThompsonSelector", "FSTD", "FUSE")]


def table(n=N):
    return np.random.default_rng(0).standard_normal((n, 4))


def outcome(word, X):
    """A target of this kind that the first column moves."""
    rng = np.random.default_rng(1)
    score = 2.0 * X[:, 0] + rng.standard_normal(len(X))
    if word == "numbers":
        return score
    if word == "two classes":
        return np.where(score > 0, "yes", "no")
    if word in ("several classes", "ordered classes"):
        codes = np.digitize(score, [-1.0, 1.0])
        return codes if word == "ordered classes" else np.array(["low", "mid", "top"], dtype=object)[codes]
    if word == "counts":
        return rng.poisson(np.exp(0.3 * score))
    if word == "several responses":
        return np.column_stack([score, score + rng.standard_normal(len(X))])
    y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(len(X)) < 0.8, rng.exponential(np.exp(-score)) + 0.01
    y["event"][np.argmax(y["time"])] = True
    return y


def fit(name, word, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fit(name, MAKERS[name](word), X, y)


def _fit(name, estimator, X, y):
    if name in LEARNERS:
        columns = {str(c): np.asarray(X[c]) for c in X} if hasattr(X, "columns") else None
        columns = columns or {f"x{j}": column for j, column in enumerate(np.asarray(X).T)}
        stage = {"history": list(columns), "action": "action", "reward": "reward"}
        times = getattr(y.dtype, "names", None) is not None
        columns |= {"action": np.arange(N) % 2, "reward": y["time"] if times else _as_numbers(y)}
        if times:
            stage["censored"] = "censored"
            columns["censored"] = ~y["event"]
        gaps = any(value.dtype.kind == "f" and np.isnan(value).any() for value in columns.values())
        missing = "indicator" if gaps else "error"
        return estimator.fit(TrialData.from_wide(columns, [stage], missing=missing))
    if name == "TemporalProcessRegression":
        if estimator.formula is not None:
            rows = X.assign(reward=y, id=np.repeat(np.arange(N // 3), 3), t=np.tile(np.arange(3), N // 3))
            return estimator.fit(rows, id="id", time="t")
        return estimator.fit(
            X, _as_numbers(y), id=np.repeat(np.arange(N // 3), 3), time=np.tile(np.arange(3), N // 3)
        )
    return estimator.fit(X, y)


def _as_numbers(y):
    """Two classes as a share; rewards and outcomes of visits are numbers."""
    return (y == "yes").astype(float) if y.dtype.kind in "US" else y


def usual(name):
    """A target that the estimator takes."""
    return capabilities()._declared[name].outcomes[0]


@pytest.mark.parametrize("word", OUTCOMES)
@pytest.mark.parametrize("name", MAKERS)
def test_declared_outcomes_are_taken_and_others_refused(name, word):
    X = table()
    if word in capabilities()[name]:
        assert fit(name, word, X, outcome(word, X)) is not None
    elif word in ADVICE:
        if name in LEARNERS or name == "TemporalProcessRegression":
            with pytest.raises((ValueError, TypeError)):
                fit(name, word, X, outcome(word, X))
            return
        sentence = f"{name} takes no {word} as y, and this y holds {word}; {ADVICE[word]}."
        with pytest.raises(ValueError, match=re.escape(sentence)):
            fit(name, word, X, outcome(word, X))
    elif word in ("numbers", "two classes", "several classes"):
        with pytest.raises((ValueError, TypeError)):
            fit(name, word, X, outcome(word, X))


@pytest.mark.parametrize("name", MAKERS)
def test_words_that_are_parameters_are_those_of_the_signatures(name):
    estimator = MAKERS[name]("numbers")
    told = TrialData.from_wide if name in LEARNERS else estimator.fit
    for word, parameters in FIT_WORDS.items():
        assert (word in capabilities()[name]) == bool(parameters & set(signature(told).parameters))
    for word, parameter in OPTION_WORDS.items():
        assert (word in capabilities()[name]) == (parameter in estimator.get_params())


def changed(word, X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    if word == "sparse tables":
        return sparse.csr_array(X)
    if word == "text columns":
        return frame.assign(d=np.array(["red", "green", "blue"])[np.random.default_rng(2).integers(0, 3, N)])
    frame.iloc[::7, 1] = np.nan
    return frame


@pytest.mark.parametrize("word", ["missing values", "text columns", "sparse tables"])
@pytest.mark.parametrize("name", READERS)
def test_declared_tables_are_taken_and_others_refused(name, word):
    X = table()
    y = outcome(usual(name), X)
    estimator = MAKERS[name](word)
    if word == "missing values" and "missing" in estimator.get_params():
        estimator.set_params(missing="indicator")
    given = changed(word, X)
    if word in capabilities()[name]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert _fit(name, estimator, given, y) is not None
    else:
        with pytest.raises((ValueError, TypeError)):
            _fit(name, estimator, given, y)


def test_only_revs_reads_files_in_parts():
    assert capabilities().who_takes("files larger than memory") == ["REVS"]


def test_advice_names_those_who_declare_it():
    for word, sentence in ADVICE.items():
        takers = [n for n in capabilities().who_takes(word) if n not in LEARNERS]
        assert all(name in sentence for name in takers)
        assert all(name in takers for name in MAKERS if name in sentence)


def test_the_table_is_a_mapping_with_a_row_per_word():
    taken = capabilities()
    assert set(taken) == set(MAKERS)
    assert len(taken) == len(MAKERS)
    lines = str(taken).splitlines()
    assert sum(line.startswith("| ") for line in lines) == len(OUTCOMES) + len(DATA) + 2
    with pytest.raises(ValueError, match="it must be one of"):
        taken.who_takes("cats")
    with pytest.raises(ValueError, match="are no capabilities"):
        Takes(("cats",), ())


def page_with_table():
    text = PAGE.read_text(encoding="utf-8")
    begin, end = (text.index(mark) for mark in MARKS)
    return f"{text[: begin + len(MARKS[0])]}\n\n{capabilities()}\n\n{text[end:]}"


def test_the_page_shows_what_is_declared():
    assert PAGE.read_text(encoding="utf-8") == page_with_table(), "run python tests/test_capabilities.py"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(), encoding="utf-8")
