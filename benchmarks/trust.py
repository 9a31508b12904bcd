"""Counts what is promised of faults: broken fits, Ctrl-C, hostile files and formulas, sources that change.

``python benchmarks/trust.py`` runs all of it and writes results/trust.md; ``python benchmarks/trust.py files
weights`` runs two of the parts and replaces their lines. The problems are those of the tests.
"""

import argparse
import builtins
import importlib.util
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rlselect
from rlselect.datumwise import DatumwiseRegressor

HERE = Path(__file__).resolve().parent
TABLE = HERE / "results/trust.md"
HEAD = """# Faults

Each line: how often something was tried, and how often it ended as promised. After an exception or Ctrl-C at
a random moment of a second fit the estimator answers as before, to the last bit, or as the whole new fit does
(after Ctrl-C also with the valid best so far, which `stop_reason_` calls interrupted). What is refused is
refused by an error of ours that names the file or the term, and nothing of it ran.

`python benchmarks/trust.py --seed {seed}`; parts and cases can be run by themselves, so that lines
differ in age (the seed is that of the last ones), and those that are not here were not run.

| What | Tried | As promised |
|---|---:|---:|
"""


def tests_of(name):
    """A module of the tests, with what it has in common with others."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    spec = importlib.util.spec_from_file_location(Path(name).stem, HERE.parent / "tests" / name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def same(mine, other):
    return mine.keys() == other.keys() and all(np.array_equal(mine[key], other[key]) for key in mine)


def valid(answers):
    return all(values.dtype.kind != "f" or np.isfinite(values).all() for values in answers.values())


def exceptions(seed, cases, trials=1000):
    """An exception at a random call of a function of the library, in the middle of a second fit."""
    common = tests_of("test_common.py")
    rng = np.random.default_rng(seed)
    for k, (name, case) in enumerate(common.CASES.items()):
        share = trials // len(common.CASES) + (k < trials % len(common.CASES))
        if not fnmatch(name, cases):
            continue
        old, other = case.data(), case.data(seed=7)
        estimator = case.fitted(*old)
        before, new = common.answers(case, estimator), common.answers(case, case.fitted(*other))
        _, calls = common.fit_breaking_at(case, case.make(), other, -1, common.InTheMiddle)
        held = 0
        for moment in rng.integers(1, calls + 1, size=share):
            ended, _ = common.fit_breaking_at(case, estimator, other, int(moment), common.InTheMiddle)
            now = common.answers(case, estimator)
            # after the last assignment, too, something may break: the new fit is whole then
            held += same(now, new) or (not ended and same(now, before))
            if not same(now, before):
                estimator = case.fitted(*old)
        yield f"exceptions, `{name}`", share, held


def interrupts(seed, cases, trials=20):
    """Ctrl-C at a random moment of a second fit."""
    common = tests_of("test_common.py")
    rng = np.random.default_rng(seed)
    for name, case in common.CASES.items():
        if not fnmatch(name, cases):
            continue
        old, other = case.data(), case.data(seed=7)
        estimator = case.fitted(*old)
        before, new = common.answers(case, estimator), common.answers(case, case.fitted(*other))
        started = time.perf_counter()
        case.fitted(*other)
        whole = time.perf_counter() - started
        held = 0
        for moment in rng.uniform(0.0, whole, size=trials):
            broken, timer = False, threading.Timer(moment, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    case.fit(estimator, *other)
                timer.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                broken = True
            now = common.answers(case, estimator)
            if same(now, before):
                held += 1
            elif same(now, new):
                # a Ctrl-C that came after the fit
                held += 1
                estimator = case.fitted(*old)
            else:
                held += not broken and "interrupted" in str(estimator.stop_reason_) and valid(now)
                estimator = case.fitted(*old)
        yield f"Ctrl-C, `{name}`", trials, held


def files(seed, _, flips=1000):
    """Files made to harm, and every kind of damage to an honest one."""
    hostile = tests_of("persist/test_hostile.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        X = np.random.default_rng(seed).standard_normal((60, 3))
        good = rlselect.save(rlselect.REVS(random_state=0).fit(X, X[:, 0]), path).read_bytes()

        def refused(content):
            path.write_bytes(content)
            try:
                rlselect.load(path)
            except ValueError as error:
                return str(path) in str(error) and not hostile.HARMED
            return False

        made = [*hostile.NOTHING.values(), *hostile.FORGED.values()]
        yield "hostile files refused, none ran", len(made), sum(map(refused, made))
        draw, held = random.Random(seed), 0
        for _ in range(flips):
            changed = bytearray(good)
            changed[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
            held += refused(bytes(changed))
        yield "files with one bit changed refused", flips, held
        ends = [draw.randrange(len(good)) for _ in range(100)]
        yield "files cut short refused", len(ends), sum(refused(good[:end]) for end in ends)


def formulas(seed, _):
    """Formulas made to harm."""
    hostile = tests_of("temporal/test_formula_safety.py")
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({name: rng.standard_normal(60) for name in ("y", "x", "z")})
    data["id"], data["t"] = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    ran, held = [], 0
    builtins.canary = lambda *args, **named: ran.append(args) or 1.0
    for formula in hostile.HOSTILE:
        try:
            rlselect.TemporalProcessRegression(formula, link="identity").fit(data, id="id", time="t")
        except ValueError:
            held += not ran
    yield "hostile formulas refused, none ran", len(hostile.HOSTILE), held


def sources(seed, _, trials=100):
    """Files that are rewritten, swapped, cut or deleted while a fit reads them."""
    unchanged = tests_of("data/test_unchanged.py")
    found = []
    for k in range(trials):
        patch = pytest.MonkeyPatch()
        with tempfile.TemporaryDirectory() as folder:
            try:
                found.append(unchanged.outcome(1000 * (seed + 1) + k, Path(folder), patch))
            except AssertionError as error:
                found.append(str(error))
        patch.undo()
    yield (
        "files changed during a fit: the old answer or named",
        trials,
        sum(one in ("old", "named") for one in found),
    )


TALL, EVEN, WIDE = (100, 10), (36, 36), (24, 72)
# estimator and options, kind of target, shapes (rows, columns); what follows the comma names the mode. The
# paper's REVS draws rows at random, so that copies of a row are other draws than one row with a weight
COUNTED = {
    "REVS": (rlselect.REVS, {}, "gaussian", [TALL, EVEN, WIDE, (700, 8)]),
    "REVS, classes": (rlselect.REVS, {}, "binomial", [TALL, EVEN, WIDE, (700, 8)]),
    "REVS, counts": (rlselect.REVS, {"family": "poisson"}, "poisson", [TALL, EVEN, WIDE, (700, 8)]),
    "REVS, many classes": (rlselect.REVS, {}, "labels", [TALL, EVEN, WIDE]),
    "REVS, ordered": (rlselect.REVS, {"family": "ordinal"}, "ordered", [TALL, EVEN, WIDE]),
    "REVS, times": (rlselect.REVS, {}, "times", [TALL, EVEN, WIDE]),
    "REVS, two responses": (rlselect.REVS, {}, "two", [TALL, EVEN, WIDE]),
    "REVS, pairs": (rlselect.REVS, {"order": 2}, "gaussian", [(100, 6), (36, 8)]),
    "RiskRFE": (rlselect.RiskRFE, {}, "gaussian", [TALL, EVEN, WIDE]),
    "RiskRFE, classes": (rlselect.RiskRFE, {}, "binomial", [TALL, EVEN, WIDE]),
    "RiskRFE, many classes": (rlselect.RiskRFE, {}, "labels", [TALL, EVEN, WIDE]),
    "RiskRFE, support vectors": (rlselect.RiskRFE, {"loss": "epsilon_insensitive"}, "gaussian", [(40, 8)]),
    "DatumwiseClassifier, bins": (
        rlselect.DatumwiseClassifier,
        {"scoring": "bins"},
        "binomial",
        [TALL, EVEN, WIDE],
    ),
    "DatumwiseClassifier, linear": (
        rlselect.DatumwiseClassifier,
        {"scoring": "linear"},
        "labels",
        [TALL, EVEN],
    ),
    "DatumwiseRegressor, bins": (DatumwiseRegressor, {"scoring": "bins"}, "gaussian", [TALL, EVEN, WIDE]),
    "TemporalProcessRegression": (
        rlselect.TemporalProcessRegression,
        {"link": "identity"},
        "gaussian",
        [(200, 4), (60, 10)],
    ),
    "TemporalProcessRegression, classes": (
        rlselect.TemporalProcessRegression,
        {"link": "logit"},
        "zeros and ones",
        [(200, 4), (100, 8)],
    ),
    "TemporalProcessRegression, counts": (
        rlselect.TemporalProcessRegression,
        {"link": "log"},
        "poisson",
        [(200, 4), (100, 8)],
    ),
}


def said(fitted, X):
    """All numbers that a fit gives."""
    marks = ("support_", "ranking_", "inclusion_", "coef_", "intercept_", "gain_")
    found = {mark: getattr(fitted, mark) for mark in marks if getattr(fitted, mark, None) is not None}
    if isinstance(fitted, rlselect.TemporalProcessRegression):
        found["predict"] = fitted.predict(X, time=np.arange(len(X)) % 2)
    else:
        answer = "predict_proba" if hasattr(fitted, "predict_proba") else "predict"
        found[answer] = np.asarray(getattr(fitted, answer)(X))
        if found[answer].dtype.kind in "OU":
            found[answer] = np.unique(found[answer], return_inverse=True)[1]
    return {mark: np.asarray(values, dtype=float) for mark, values in found.items()}


def weights(seed, cases, each=3):
    """A weight of k against k copies: all that a fit says, to 1e-10."""
    counts = tests_of("test_weights.py")
    for name, (kind, options, target, shapes) in COUNTED.items():
        if not fnmatch(name, cases):
            continue
        if kind is rlselect.TemporalProcessRegression:
            more = {"given": counts.subjects}
        else:
            more, options = {}, {"random_state": 0, **options}
        held = 0
        draws = [(shape, k) for shape in shapes for k in range(each)]
        for (n, p), k in draws:
            X, y, weight = counts.problem(n, p, target, seed=1000 * (seed + 1) + k)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits = counts.both(partial(kind, **options), X, y, weight, **more)
                mine, other = (said(fitted, X) for fitted in fits)
            off = [mark for mark in mine if not np.allclose(mine[mark], other[mark], 1e-10, 1e-10, True)]
            held += not off
            if off:
                print(name, n, p, k, {mark: float(np.nanmax(abs(mine[mark] - other[mark]))) for mark in off})
        yield f"weights = copies to 1e-10, `{name}`", len(draws), held


PARTS = {part.__name__: part for part in (exceptions, interrupts, files, formulas, sources, weights)}


def write(lines, seed):
    """Put lines into the table, each in the place of the one of the same name."""
    rows = {}
    if TABLE.exists():
        for line in TABLE.read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 3 and cells[1].isdigit():
                rows[cells[0]] = (int(cells[1]), int(cells[2]))
    rows.update({name: counts for name, *counts in lines})
    body = "".join(f"| {name} | {tried} | {held} |\n" for name, (tried, held) in rows.items())
    TABLE.write_text(HEAD.format(seed=seed) + body, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="which; all by default")
    parser.add_argument("--cases", default="*", help="estimators to break or to interrupt, as a pattern")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for part in chosen.parts or PARTS:
        for line in PARTS[part](chosen.seed, chosen.cases):
            print(*line, flush=True)
            write([line], chosen.seed)


if __name__ == "__main__":
    main()
