"""What a user learns of one estimator holds for the next: the same tests for all of them."""

import copy
import os
import pickle
import re
import signal
import sys
import threading
import time
import warnings
from functools import cache
from inspect import signature
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cases import CASES, SELECTORS, answers, assert_same, fit_rows, fit_visits, usual_fit
from rlselect import REVS, RiskRFE, load, save
from rlselect.report import NotDrawnError, PerformanceDisplay, Summary, to_html

# names that break pages, formulas, terminals or look-ups that are not careful
HOSTILE = ["<script>alert(1)</script>", "=1+1", "a\nb", "x0", "Größe & 'Co'", "intercept"]
every = pytest.mark.parametrize("name", CASES)
every_selector = pytest.mark.parametrize("name", SELECTORS)


@every
def test_a_trivial_problem_is_solved(name):
    case = CASES[name]
    assert case.solved(usual_fit(name))


# ---- a fit is the old one or the new one ----


class InTheMiddle(BaseException):
    """Not an error that anybody expects, so that nobody catches it."""


def breaking(moment, error):
    """Raise at the given call of a function of the library, counted from the start of a fit."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        if event == "call" and frame.f_globals.get("__name__", "").startswith("rlselect."):
            count += 1
            if count == moment:
                raise error
        return

    return profile, lambda: count


def fit_breaking_at(case, estimator, data, moment, error):
    """Whether the fit came to its end, and how many calls it made."""
    profile, count = breaking(moment, error)
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.fit(estimator, *data)
    except (InTheMiddle, KeyboardInterrupt):
        return False, count()
    finally:
        sys.setprofile(before)
    return True, count()


@every
def test_a_fit_that_breaks_leaves_the_old_one_or_a_new_one(name):
    case = CASES[name]
    other, whole = case.data(seed=7), case.make()
    before = answers(case, usual_fit(name))
    _, calls = fit_breaking_at(case, whole, other, -1, InTheMiddle)
    new = answers(case, whole)
    moments = np.random.default_rng(0).integers(1, calls + 1, size=2)
    for error, moment in product([InTheMiddle, KeyboardInterrupt], moments):
        estimator = copy.deepcopy(usual_fit(name))
        ended, _ = fit_breaking_at(case, estimator, other, int(moment), error)
        if ended and estimator.stop_reason_ != "interrupted":
            assert_same(answers(case, estimator), new)
        elif not ended:
            assert_same(answers(case, estimator), before)


@every
def test_a_refused_refit_leaves_the_old_fit(name):
    case = CASES[name]
    X, y = case.data()
    estimator = copy.deepcopy(usual_fit(name))
    before, state = answers(case, estimator), set(vars(estimator))
    broken = np.array(X)
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinit"):
        case.fit(estimator, broken, y)
    assert_same(answers(case, estimator), before)
    assert set(vars(estimator)) == state


FRAMES = {
    "pandas": lambda X, names: pd.DataFrame(X, columns=names),
    "polars": lambda X, names: pl.DataFrame(dict(zip(names, X.T, strict=True))),
    "pyarrow": lambda X, names: pa.table(dict(zip(names, map(np.ascontiguousarray, X.T), strict=True))),
}
NAMES = [f"column {j}" for j in range(6)]


@cache
def framed_fit(name, kind):
    X, y = CASES[name].data()
    return CASES[name].fitted(FRAMES[kind](X, NAMES), y)


@every
def test_nothing_of_an_earlier_fit_is_left(name):
    case = CASES[name]
    estimator = copy.deepcopy(framed_fit(name, "pandas"))
    case.fit(estimator, *case.data())
    assert vars(estimator).keys() == vars(usual_fit(name)).keys()
    assert not hasattr(estimator, "feature_names_in_")


@every
def test_an_option_that_is_not_known_is_one_sentence(name):
    case = CASES[name]
    options = sorted(set(case.make()._options))
    assert options
    for option in options:
        estimator = case.make()
        setattr(estimator, option, object())
        with pytest.raises(ValueError, match=rf"^{option}=.*was given; it must be .*\.$"):
            case.fit(estimator, *case.data())


# ---- data ----


@every_selector
@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_answer_of_the_array(name, kind):
    framed = framed_fit(name, kind)
    plain = usual_fit(name)
    for mark in ("support_", "ranking_"):
        np.testing.assert_array_equal(getattr(framed, mark), getattr(plain, mark))
    assert list(framed.feature_names_in_) == NAMES


@every
def test_hostile_names_are_names_and_nothing_else(name):
    case = CASES[name]
    X, y = case.data()
    frame = pd.DataFrame(X, columns=HOSTILE)
    estimator = case.fitted(frame, y)
    page = to_html(estimator.summary().dict)
    assert "<script>alert" not in page
    if case.predict is not None:
        plain = case.predict(usual_fit(name), X)
        np.testing.assert_array_equal(case.predict(estimator, frame), plain)


@every_selector
def test_the_order_of_columns_does_not_matter(name):
    case = CASES[name]
    if name.endswith(".paper") or name.startswith("Datumwise"):
        pytest.skip("actions are drawn by their position, with the same seed others are tried")
    X, y = case.data()
    order = np.array([4, 2, 5, 0, 3, 1])
    mine, other = usual_fit(name), case.fitted(X[:, order], y)
    np.testing.assert_array_equal(mine.support_[order], other.support_)
    if name.startswith("REVS"):
        np.testing.assert_allclose(mine.inclusion_[order], other.inclusion_, atol=1e-6)


@every
def test_weights_are_copies(name):
    case = CASES[name]
    takes = signature(type(case.make()).fit).parameters
    if "sample_weight" not in takes or name.endswith(".paper"):
        pytest.skip("takes no weights, or draws rows at random")
    X, y = case.data()
    weight = np.random.default_rng(1).integers(1, 4, size=len(y) // 5).repeat(5)
    weighted = case.fitted(X, y, {"sample_weight": weight.astype(float)})
    if case.fit is fit_visits:
        rows = np.concatenate([np.arange(len(y)).reshape(-1, 5)[weight[::5] > k].ravel() for k in range(3)])
    else:
        rows = np.repeat(np.arange(len(y)), weight)
    copied = case.fitted(X[rows], y[rows])
    if hasattr(weighted, "support_"):
        np.testing.assert_array_equal(weighted.support_, copied.support_)
    if case.predict is None:
        return
    mine, other = (case.predict(estimator, X) for estimator in (weighted, copied))
    if mine.dtype.kind == "f":
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    else:
        np.testing.assert_array_equal(mine, other)


# ---- seeds, workers, copies ----


@every
def test_the_same_seed_is_the_same_answer_for_any_number_of_workers(name):
    case = CASES[name]
    one = answers(case, usual_fit(name))
    options = signature(type(case.make())).parameters
    # that the same options give it again is what a clone tells below
    assert_same(answers(case, case.fitted(**({"n_jobs": 2} if "n_jobs" in options else {}))), one)


@every
@pytest.mark.parametrize("kind", ["integer", "generator", "state"])
def test_every_kind_of_seed_is_taken(name, kind):
    case = CASES[name]
    if "random_state" not in signature(type(case.make())).parameters:
        pytest.skip("nothing is left to chance")
    if kind == "state":
        one, two = (answers(case, case.fitted(random_state=np.random.RandomState(3))) for _ in range(2))
    else:
        # the usual fit has the plain number
        seed = np.int64(0) if kind == "integer" else np.random.default_rng(0)
        one, two = answers(case, usual_fit(name)), answers(case, case.fitted(random_state=seed))
    assert_same(one, two)


@every
def test_clone_and_pickle(name):
    case = CASES[name]
    estimator = usual_fit(name)
    before = answers(case, estimator)
    assert_same(answers(case, pickle.loads(pickle.dumps(estimator))), before)
    fresh = clone(estimator)
    assert not [key for key in vars(fresh) if key.endswith("_") or key == "_learnt"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(answers(case, case.fit(fresh, *case.data())), before)


@every
def test_save_and_load(name, tmp_path):
    case = CASES[name]
    estimator = usual_fit(name)
    if name == "DivideAndConquer":
        with pytest.raises(TypeError, match=r"DivideAndConquer\.estimator holds .*LassoCV.*skops.*joblib"):
            save(estimator, tmp_path / "file")
        estimator = case.fitted(estimator=REVS(n_jobs=1))
    before = answers(case, estimator)
    loaded = load(save(estimator, tmp_path / "file"))
    assert_same(answers(case, loaded), before)
    assert str(loaded.summary()) == str(estimator.summary())
    assert vars(loaded).keys() == vars(estimator).keys()
    # the fit that was loaded is replaced by a new one, as any other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(answers(case, case.fit(loaded, *case.data())), before)


# ---- words ----


@every
def test_the_summary_is_of_one_kind(name, tmp_path):
    summary = usual_fit(name).summary()
    assert isinstance(summary, Summary)
    for ending in ("html", "md", "json"):
        assert summary.save(tmp_path / f"page.{ending}").stat().st_size > 100
    with pytest.raises(ValueError, match=r"must end in \.html"):
        summary.save(tmp_path / "page.pdf")


@every
def test_the_report_is_a_page_whole_or_not_at_all(name, tmp_path):
    estimator, page = usual_fit(name), tmp_path / "page.html"
    kind = type(estimator)
    _, path, *others = signature(kind.report).parameters.values()
    assert (path.name, path.default) == ("path", None)
    assert all(one.kind is one.KEYWORD_ONLY and one.default is not one.empty for one in others)
    account = estimator.report(str(page))
    assert str(account) == str(estimator.summary()) == str(estimator.report())
    before = page.read_text(encoding="utf-8")
    assert before == to_html(account.dict)
    with patch.object(kind, "_report", side_effect=InTheMiddle):
        for wrong in (tmp_path / "page.pdf", CASES[name].data()[0]):
            # before anything is computed
            with pytest.raises(ValueError, match=r"must .*end.* in \.html"):
                estimator.report(wrong)
        with pytest.raises(InTheMiddle):
            estimator.report(page)
    with pytest.raises(NotFittedError):
        CASES[name].make().report(page)
    assert page.read_text(encoding="utf-8") == before
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("name", [name for name in SELECTORS if CASES[name].predict])
def test_a_report_judges_the_rows_it_is_given(name, tmp_path):
    estimator, (X, y) = usual_fit(name), CASES[name].data(seed=1)
    facts = estimator.report(tmp_path / "page.md", X=X, y=y).dict["facts"]
    measure = re.compile(r"(Accuracy|R squared|Mean score|Deviance|Concordance)\b")
    said = [value for key, value in facts.items() if measure.match(key)]
    assert said == [pytest.approx(estimator.score(X, y))]
    with pytest.raises(ValueError, match=r"y .*given"):
        estimator.report(y=y)


def vocabulary():
    """The table of docs/architecture.md: word -> estimators that have it."""
    page = (Path(__file__).parents[1] / "docs/architecture.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    header = next(k for k, line in enumerate(lines) if line.startswith("| Word"))
    owners = re.findall(r"`(\w+)`", lines[header])
    table = {}
    for line in lines[header + 2 :]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        word = re.match(r"`(\w+)", cells[0])
        if word is None:
            break
        marks = cells[-len(owners) :]
        table[word.group(1)] = [owner for owner, mark in zip(owners, marks, strict=True) if mark == "yes"]
    return owners, table


OWNERS, WORDS = vocabulary()


@pytest.mark.parametrize("owner", OWNERS)
def test_the_vocabulary_is_what_the_page_says(owner):
    estimator = usual_fit(owner)
    kind = type(estimator)
    known = {*vars(estimator), *signature(kind).parameters, *signature(kind.fit).parameters}
    known |= {name for name in dir(kind) if not name.startswith("_")}
    said = {word for word, owners in WORDS.items() if owner in owners}
    assert said == {word for word in WORDS if word in known}


@every
def test_paths_have_one_entry_per_step(name):
    path = getattr(usual_fit(name), "path_", {})
    for steps in path if isinstance(path, list) else [path]:
        assert len({len(values) for values in steps.values()}) <= 1


@every
def test_rankings_are_permutations(name):
    ranking = getattr(usual_fit(name), "ranking_", np.array([1]))
    for ranks in ranking if isinstance(ranking, list) else [ranking]:
        assert sorted(ranks) == list(range(1, len(ranks) + 1))


# ---- pictures ----

LONG = [f"share of all households of size {j} that have neither a car nor a telephone" for j in range(6)]
# one fit of each kind of estimator
ONE_OF_EACH = {type(CASES[name].make()): name for name in reversed(CASES)}
KINDS = sorted(ONE_OF_EACH, key=lambda kind: kind.__name__)
# what is drawn is the same code for those with the same pictures
SEEN_ONCE = list({kind.displays: kind for kind in KINDS}.values())


@cache
def with_long_names(kind):
    """A fit, and the rows it was fitted to."""
    case = CASES[ONE_OF_EACH[kind]]
    X, y = case.data()
    X = pd.DataFrame(X, columns=LONG)
    return case.fitted(X, y), () if case.fit is not fit_rows else (X, y)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("kind", KINDS)
def test_three_pictures_are_drawn_one_way(kind, plt):
    estimator, rows = with_long_names(kind)
    assert len(kind.displays) == 3
    for display in kind.displays:
        asked = list(signature(display.from_estimator).parameters.values())
        assert [one.name for one in asked[:4]] == ["estimator", "X", "y", "ax"]
        assert all(one.kind is one.KEYWORD_ONLY for one in asked[3:])
        assert all(one.default is not one.empty for one in asked[1:])
        ax, needed = plt.subplots()[1], ()
        if display is PerformanceDisplay and kind is not RiskRFE:
            needed = rows
            with pytest.raises(NotDrawnError, match="give X and y"):
                display.from_estimator(estimator, ax=ax)
        drawn = display.from_estimator(estimator, *needed, ax=ax)
        assert drawn.figure_ is ax.figure
        assert len(drawn.axes_) > 1 or drawn.ax_ is ax
        with pytest.raises(NotFittedError):
            display.from_estimator(CASES[ONE_OF_EACH[kind]].make())


@pytest.mark.parametrize("kind", SEEN_ONCE)
def test_pictures_with_long_names_are_readable(kind, plt, assert_readable):
    estimator, rows = with_long_names(kind)
    shown = estimator.plot(*rows)
    assert [type(display) for display in shown.displays_] == list(kind.displays)
    assert_readable(shown.figure_)


# ---- time and interrupts ----


def budgeted(kind):
    return "time_budget" in signature(kind).parameters


@every
def test_a_time_budget_holds_and_leaves_a_fit(name):
    case = CASES[name]
    assert budgeted(type(case.make()))
    # of the processor: other work on the machine is not the fit's
    started = time.process_time()
    estimator = case.fitted(time_budget=1e-3)
    assert time.process_time() - started < 1.2e-3 + 1.0
    answers(case, estimator)
    if hasattr(estimator, "stop_reason_") and name != "TemporalProcessRegression":
        reasons = estimator.stop_reason_
        reasons = reasons if isinstance(reasons, list) else [reasons]
        exact = ("solved exactly", "all folds", "no better subset")
        assert all(reason.startswith(("time budget", *exact)) for reason in reasons), reasons


def interrupt_after(seconds):
    """Press Ctrl-C once, some time from now."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    return timer


@pytest.mark.slow
@every
def test_ctrl_c_at_any_moment_leaves_the_old_fit_or_a_valid_one(name):
    case = CASES[name]
    old, other = case.data(), case.data(seed=7)
    estimator = case.fitted(*old)
    before = answers(case, estimator)
    started = time.perf_counter()
    case.fitted(*other)
    whole = time.perf_counter() - started
    for moment in np.random.default_rng(0).uniform(0.0, whole, size=20):
        try:
            # the first moments may come before the timer is handed over
            timer = interrupt_after(moment)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                case.fit(estimator, *other)
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass
        now = answers(case, estimator)
        assert now.keys() == before.keys()
        if not hasattr(estimator, "stop_reason_") or all(
            np.array_equal(now[key], before[key], equal_nan=now[key].dtype.kind == "f") for key in now
        ):
            continue
        for values in now.values():
            assert values.dtype.kind not in "f" or np.isfinite(values).all()
        case.fit(estimator, *old)
