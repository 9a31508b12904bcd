"""Golden traces: what every estimator answers on small seeded data, to 1e-12.

For refactorings that must not change a digit. Record before, compare after, on the same machine with the same
versions of numpy, scipy and scikit-learn:

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/golden.py record benchmarks/results/golden.json.gz
    python benchmarks/golden.py compare benchmarks/results/golden.json.gz
    python benchmarks/golden.py compare benchmarks/results/golden.json.gz --cases 'revs-*,acp-*'

`compare` prints ok or the fields that differ, case by case with its seconds, and exits 1 if any differ.
Numbers may differ by 1e-12, relative or absolute; strings, whole numbers and truth values not at all. Of more
than 48 numbers, 24 that are spread evenly and means of all are kept; of more than 64 whole numbers or
strings, a hash. Fields that were not recorded are not looked at. What is renamed goes into the tables below.
"""

import argparse
import gzip
import hashlib
import json
import sys
import tempfile
import time
import warnings
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

# name used here -> names to try before it, of classes, functions, methods, options, attributes and dict keys
RENAMED = {
    "path": ("path_", "objective_path_", "history_"),
    "weights": ("sample_weight", "time_weight"),
    "bandwidth_path": ("path_",),
    "confidence": ("level",),
    "learning": ("search",),
    "usage": ("unit_inclusion_",),
}
# text recorded -> text expected now, such as the wording of a stop reason
REWORDED = {}
# where public names are looked for; those that do not exist are passed over
ROOMS = ("subset", "datumwise", "regimes", "temporal", "learn", "predictors", "machines", "simulate")

TOLERANCE = 1e-12
PACKAGES = ("numpy", "scipy", "scikit-learn")
# what a clock decides
SKIPPED = ("seconds",)


def candidates(name):
    return (*RENAMED.get(name, ()), f"{name}_", name)


def has(thing, name):
    return any(hasattr(thing, one) for one in candidates(name))


def attribute(thing, name):
    """What a fitted estimator or a result calls `name`."""
    for one in candidates(name):
        if hasattr(thing, one):
            return getattr(thing, one)
    raise AttributeError(f"{type(thing).__name__} has none of {candidates(name)}")


def public(name):
    """A public class or function, wherever it lives."""
    for module in ("rlselect", *(f"rlselect.{room}" for room in ROOMS)):
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            continue
        for one in (*RENAMED.get(name, ()), name):
            if hasattr(found, one):
                return getattr(found, one)
    raise ImportError(f"no room of rlselect has {name!r}")


def renamed(options, *functions):
    known = {key for function in functions for key in signature(function).parameters}
    return {next((one for one in candidates(k) if one in known), k): v for k, v in options.items()}


def make(what, /, *args, **options):
    """Call something public: "REVS", "REVS.paper", "regime_value"."""
    name, _, method = what.partition(".")
    whole = public(name)
    function = attribute(whole, method) if method else whole
    return function(*args, **renamed(options, function, whole))


def call(thing, method, /, *args, **options):
    function = attribute(thing, method)
    return function(*args, **renamed(options, function))


def learnt(thing, name):
    """Whether a fit has set it; options have the same names without the underscore."""
    return any(one in vars(thing) for one in candidates(name) if one.endswith("_"))


def traced(thing, names, perhaps=""):
    """Attributes by name, and of `perhaps` those that this fit has set."""
    return {
        name: attribute(thing, name)
        for name in [*names.split(), *(one for one in perhaps.split() if learnt(thing, one))]
    }


# ---- data ----


def numbers(n=120, p=10, effects=(1.0, -1.0, 0.5), seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, : len(effects)] @ np.array(effects) + noise * rng.standard_normal(n)


def classes(eta, seed=0, labels=("no", "yes")):
    chance = 1.0 / (1.0 + np.exp(-2.0 * eta))
    return np.array(labels)[(np.random.default_rng(seed).random(len(eta)) < chance).astype(int)]


def counts(eta, seed=0):
    return np.random.default_rng(seed).poisson(np.exp(0.4 * eta))


def products(n=100, p=8, seed=1):
    """A response of a product and a sine."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] * X[:, 4] + np.sin(X[:, 6]) + 0.2 * rng.standard_normal(n)


def three_classes(n=150, d=7, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    score = np.stack([X[:, k] + 0.5 * X[:, k + 1] for k in range(3)], axis=1)
    return X, np.array(["ash", "elm", "oak"])[score.argmax(axis=1)]


def people(n=150, seed=0, gaps=0.0):
    """Numbers, truth values, text and categories."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, n),
            "city": rng.choice(["Oslo", "Paris", "Rome"], n),
            "colour": pd.Categorical(rng.choice(["blue", "green", "red"], n)),
            "member": rng.random(n) < 0.5,
            "noise": rng.standard_normal(n),
        }
    )
    spent = 0.05 * frame["age"] + 2.0 * (frame["city"] == "Paris") + frame["member"] * frame["age"] / 50
    frame["spent"] = spent + 0.5 * rng.standard_normal(n)
    frame.loc[rng.random(n) < gaps, "age"] = np.nan
    return frame


def table(X, y, **more):
    return pa.table({f"v{j}": X[:, j] for j in range(X.shape[1])} | {"target": y} | more)


# ---- REVS ----

REVS = (
    "support inclusion ranking gain coef intercept dispersion column_names family n_stages n_rows_read "
    "n_rows_decoded stop_reason path"
)


def joined(found):
    """Predictions, also those of a source, which come in parts."""
    is_whole = hasattr(found, "shape")
    return found if is_whole else np.concatenate([np.asarray(part) for part in found])


def predictions(model, X):
    methods = ("predict", "predict_proba", "decision_function", "transform")
    return {method: joined(call(model, method, X)) for method in methods if has(model, method)}


def revs(X, y, head=None, given=None, how="REVS", **options):
    model = make(how, **{"random_state": 0, **options})
    call(model, "fit", X, y, **(given or {}))
    return traced(model, REVS) | predictions(model, X[:12] if head is None else head)


def revs_gaussian():
    data = make("make_revs", 120, 150, structure="banded", n_nonzero=10, random_state=0)
    return revs(data.X, data.y)


def revs_binomial():
    X, eta = numbers(150, 20)
    return revs(X, classes(eta))


def revs_poisson():
    X, eta = numbers(150, 20)
    exposure = np.random.default_rng(1).uniform(0.5, 2.0, 150)
    return revs(X, counts(eta + np.log(exposure)), family="poisson", given={"offset": np.log(exposure)})


def revs_weights():
    X, y = numbers(150, 15)
    rng = np.random.default_rng(1)
    weight, offset = rng.integers(0, 3, 150), rng.standard_normal(150)
    both = {"sample_weight": weight, "offset": offset}
    return {
        "gaussian": revs(X, y + offset, given=both),
        "binomial": revs(X, classes(y), given={"sample_weight": weight.astype(float)}),
    }


def revs_groups():
    X, y = numbers(150, 12)
    groups = {"a": [0, 3], "b": [1, 4, 5]}
    return {
        "groups": revs(X, y, feature_groups=groups),
        "forced": revs(X, y, always_select=[7], never_select=[0], penalty=3.0),
        "labels": revs(X, classes(y), feature_groups=list(np.arange(12) // 2)),
        "copies": revs(np.column_stack([X, X[:, :2], np.ones(150)]), y),
    }


def revs_policies():
    X, y = numbers(100, 12)
    policies = ["ucb", "thompson", "epsilon-greedy", make("UCB", c=2.0), make("EpsilonGreedy", 0.2)]
    found = {str(k): revs(X, y, policy=policy) for k, policy in enumerate(policies)}
    return found | {"classes": revs(X, classes(y), policy="ucb")}


def revs_wide():
    X, y = numbers(80, 2100, (2.0, -2.0, 2.0))
    return {"gaussian": revs(X, y), "binomial": revs(X, classes(y))}


def revs_large():
    X, y = numbers(30_000, 40, (0.5, -0.5, 0.3, 0.05))
    rng = np.random.default_rng(1)
    given = {"sample_weight": rng.uniform(0.5, 2.0, len(y)), "offset": 0.1 * rng.standard_normal(len(y))}
    return {
        "all rows": revs(X, y),
        "decided": revs(*numbers(120_000, 10, (0.5, -0.5, 0.3))),
        "min effect": revs(X.astype(np.float32), y, min_effect=0.03),
        "weights": revs(X, y, given=given, feature_groups=[[0, 5], [1, 6]]),
    }


def revs_large_classes():
    X, eta = numbers(12_000, 25, (0.5, -0.5, 0.05))
    Z, strong = numbers(60_000, 12, (1.0, -1.0))
    return {
        "binomial": revs(X, classes(eta)),
        "poisson": revs(X, counts(eta), family="poisson"),
        "decided": revs(Z, classes(strong)),
    }


def revs_large_chains():
    """Columns that nearly repeat each other send further chains over the rows."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20_000, 30))
    X[:, 9] = 0.97 * X[:, 0] + 0.24 * X[:, 9]
    return revs(X, X[:, :4] @ [1.0, -1.0, 0.03, -0.03] + rng.standard_normal(20_000))


def revs_paper():
    X, y = numbers(200, 12)
    batches = {"n_train": 100, "n_valid": 80, "n_preliminary": 60, "max_stages": 400}
    options = {"how": "REVS.paper", "discount": 0.9, "price": 0.05, **batches}
    return {
        "gaussian": revs(X, y, **options),
        "binomial": revs(X, classes(y), **options),
        "poisson": revs(X, counts(y), family="poisson", **options),
    }


def revs_sarsa():
    X, y = numbers(400, 10)
    schedules = {"learning_rate": make("PowerDecay", 0.8), "quantile": make("LinearRamp", 0.5, 0.9, 300)}
    batches = {"n_train": 150, "n_valid": 100, "n_preliminary": 40, "max_stages": 300}
    search = make("Sarsa", price=0.05, patience=60, **schedules, **batches)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 400)
    endless = make("Sarsa", max_stages=150, patience=1000, discount=0.5)
    return {
        "options": revs(
            X,
            y,
            search=search,
            policy=make("EpsilonGreedy", 0.2),
            given={"sample_weight": weight},
            feature_groups=[[0, 3]],
        ),
        "max stages": revs(X, y, search=endless, always_select=[5]),
    }


def revs_frames():
    frame = people()
    labels = frame.assign(spent=np.where(frame["spent"] > frame["spent"].mean(), "much", "little"))
    return {
        "pandas": revs(frame, "spent"),
        "polars": revs(pl.from_pandas(frame), "spent"),
        "arrow": revs(pa.Table.from_pandas(frame), "spent", head=frame[:12]),
        "classes": revs(labels, "spent"),
    }


def revs_missing():
    frame = people(gaps=0.15)
    whole = frame.dropna()[:12]
    return {
        "drop": revs(frame, "spent", head=whole, missing="drop"),
        "indicator": revs(frame, "spent", missing="indicator"),
    }


def revs_sparse():
    X, y = numbers(150, 30)
    X[np.abs(X) < 0.8] = 0.0
    y = X[:, 0] - X[:, 1] + 0.5 * y
    large, eta = numbers(6000, 20)
    large[np.abs(large) < 1.0] = 0.0
    return {
        "csr": revs(sparse.csr_array(X), y),
        "csc": revs(sparse.csc_array(X), classes(y), head=X[:12]),
        "large": revs(sparse.csr_array(large), eta),
    }


def write_folder(folder, rows, files=3):
    for k, part in enumerate(np.array_split(np.arange(len(rows)), files)):
        pq.write_table(rows.slice(part[0], len(part)), folder / f"part-{k}.parquet", row_group_size=2048)


def revs_parquet():
    X, y = numbers(60_000, 12, (0.5, -0.5, 0.3))
    rows = table(X, y, w=np.random.default_rng(1).uniform(0.5, 2.0, len(y)))
    with tempfile.TemporaryDirectory() as name:
        write_folder(Path(name), rows)
        one = str(Path(name) / "part-1.parquet")
        model = make("REVS", random_state=0, validate="all")
        call(model, "fit", name, "target", sample_weight="w")
        kept = np.concatenate([part.to_pandas().to_numpy() for part in call(model, "transform", one)])
        folder = traced(model, REVS) | {"transform": kept, "predict": joined(call(model, "predict", one))}
        file = make("REVS", random_state=0, never_select=["w"])
        call(file, "fit", one, "target")
        return {"folder": folder, "file": traced(file, REVS)}


def revs_parquet_text():
    X, eta = numbers(9000, 8, (0.5, -0.5))
    city = np.random.default_rng(2).choice(["Oslo", "Paris", "Rome"], 9000)
    rows = table(X, classes(eta + (city == "Rome")), city=city)
    with tempfile.TemporaryDirectory() as name:
        write_folder(Path(name), rows)
        model = make("REVS", random_state=0)
        call(model, "fit", f"{name}/*.parquet", "target")
        return traced(model, REVS) | {"proba": joined(call(model, "predict_proba", name))}


def revs_csv():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "people.csv"
        people().to_csv(path, index=False)
        return revs(str(path), "spent", head=people()[:12])


def revs_dask():
    import dask
    import dask.array as da
    import dask.dataframe as dd

    X, y = numbers(60_000, 12, (0.5, -0.5, 0.3))
    frame = table(X, y).to_pandas()
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(np.column_stack([X, y]), chunks=(6000, 5))
        return {
            "frame": revs(dd.from_pandas(frame, npartitions=5), "target", head=frame[:12]),
            "array": revs(rows, "x12", head=X[:12]),
        }


def revs_iterator():
    X, y = numbers(20_000, 12, (0.5, -0.5, 0.1))
    frame = table(X, y).to_pandas()

    def chunks():
        return (frame[start : start + 3000] for start in range(0, len(frame), 3000))

    return revs(chunks, "target", head=frame[:12])


def revs_checkpoint():
    X, y = numbers(20_000, 15, (0.5, -0.5, 0.04))
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for kind, target in (("gaussian", y), ("binomial", classes(y))):
            options = {"random_state": 0, "checkpoint": Path(name) / kind, "min_effect": 0.03}
            short = make("REVS", time_budget=1e-6, **options)
            call(short, "fit", X, target)
            model = make("REVS", **options)
            call(model, "fit", X, target)
            found[kind] = traced(model, REVS) | {"short": attribute(short, "stop_reason")}
    return found


def revs_divide():
    X, y = numbers(1200, 12, (0.5, -0.5, 0.1))
    found = {}
    for name, estimator in (("lasso", Lasso(0.08)), ("revs", make("REVS", random_state=0))):
        model = make("DivideAndConquer", estimator, n_folds=4, vote=0.6, random_state=0)
        call(model, "fit", X, y)
        found[name] = traced(model, "support inclusion ranking") | predictions(model, X[:12])
    return found


# ---- ActorCriticPredictor ----

ACP = "support inclusion ranking gain path screening n_fits cache_hits n_iter stop_reason task"


def acp(X, y, head=None, how="ActorCriticPredictor", **options):
    model = make(how, **{"random_state": 0, **options})
    call(model, "fit", X, y)
    chosen = attribute(model, "predictor")
    found = traced(model, ACP) | {"predictor": traced(chosen, "name scores t")}
    # recorded as n times log risk
    found["price"] = 2.0 * attribute(model, "penalty_")
    return found | predictions(model, X[:12] if head is None else head)


def acp_regression():
    X, y = products(100, 12)
    return acp(X, y)


def acp_classes():
    X, eta = numbers(120, 10)
    several = make("make_acp", 150, 12, function="multiclass", random_state=0)
    return {"two": acp(X, classes(eta)), "several": acp(several.X, several.y)}


def acp_predictors():
    X, y = numbers(80, 7)
    few = {"max_iter": 10, "batch_size": 16}
    found = {name: acp(X, y, predictor=name, **few) for name in ("linear", "kernel")}
    for name in ("linear", "logistic", "kernel"):
        found[f"{name} classes"] = acp(X, classes(y), predictor=name, **few)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    return found | {"estimator": acp(X, y, predictor=tree, max_iter=2, batch_size=6, threshold=0.5)}


def acp_network():
    X, y = numbers(60, 5)
    few = {"predictor": "network", "max_iter": 1, "batch_size": 4, "threshold": 0.45}
    return {"numbers": acp(X, y, **few), "classes": acp(X, classes(y), **few)}


def acp_paper():
    X, y = numbers(80, 6)
    paper = {"how": "ActorCriticPredictor.paper", "threshold": 0.6}
    few = {"batch_size": 16, **paper}
    return {
        "linear": acp(X, y, predictor="linear", max_iter=30, **few),
        "adam": acp(X, y, predictor="linear", actor="adam", max_iter=20, gamma=0.05, validation=0.4, **few),
        "logistic": acp(X, classes(y), predictor="logistic", max_iter=8, **few),
        "network": acp(X, y, max_iter=1, batch_size=4, **paper),
    }


def acp_frame():
    frame = people(gaps=0.1)
    return {
        "indicator": acp(frame, "spent", predictor="linear", missing="indicator"),
        "drop": acp(pl.from_pandas(frame), "spent", frame.dropna()[:12], predictor="linear", missing="drop"),
    }


def acp_screening():
    X, y = numbers(80, 450, (1.5, -1.5, 1.5))
    return {
        "auto": acp(X, y, predictor="linear", max_iter=15),
        "given": acp(
            X, y, screening=20, penalty=0.75 * np.log(80), threshold=0.8, predictor="kernel", max_iter=5
        ),
    }


# ---- RiskRFE ----

RFE = "support ranking n_features center scale path stop_reason"


def rfe(X, y, head=None, given=None, how="RiskRFE", estimator=None, **options):
    model = make(how, **({} if estimator is None else {"estimator": estimator}), **options)
    call(model, "fit", X, y, **(given or {}))
    found = traced(model, RFE, "coef intercept regularization bandwidth")
    return found | predictions(model, X[:12] if head is None else head)


def rfe_gaussian():
    X, y = products()
    return {"auto": rfe(X, y), "given": rfe(3 * X + 1, y, regularization=0.01, bandwidth=9.0)}


def rfe_linear():
    X, y = numbers(100, 12)
    weight = np.random.default_rng(0).integers(0, 3, 100)
    return {
        "auto": rfe(X, y, kernel="linear"),
        "weights": rfe(X, y, kernel="linear", given={"sample_weight": weight}),
        "sparse": rfe(sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)), y, kernel="linear"),
        "hinge": rfe(X, classes(y), kernel="linear", loss="hinge", regularization=0.01, step=2),
    }


def rfe_hinge():
    X, y, _ = make("make_annulus", 120, 7, random_state=3)
    return {"auto": rfe(X, y, loss="hinge"), "norm": rfe(X, y, loss="hinge", criterion="norm", step=0.4)}


def rfe_epsilon():
    X, y = products(70, 7)
    wide = make("EpsilonInsensitiveLoss", 0.3)
    fixed = {"regularization": 0.01, "bandwidth": 3.0}
    return {"auto": rfe(X, y, loss="epsilon_insensitive", **fixed), "wide": rfe(X, y, loss=wide, **fixed)}


def rfe_logistic():
    X, y = three_classes(90, 6)
    fixed = {"loss": "logistic", "regularization": 0.005, "bandwidth": 2.5}
    Z, eta = numbers(80, 6)
    return {"three": rfe(X, y, **fixed), "two": rfe(Z, classes(eta), loss="logistic", kernel="linear")}


def rfe_kernels():
    X, y = products(70, 7)

    def plain(A, B):
        return np.exp(-np.square(A[:, None] - B[None]).sum(axis=-1) / 16.0)

    additive = make("AdditiveKernel", lambda A, B: A @ B.T, lambda total: np.square(1.0 + total))
    return {
        "poly": rfe(X, y, kernel=make("PolynomialKernel", degree=2, coef0=0.5)),
        "chi2": rfe(np.abs(X), y, kernel="chi2", stopping=3),
        "callable": rfe(X, y, kernel=plain),
        "additive": rfe(X, y, kernel=additive),
    }


def rfe_groups():
    X, y = products()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    return {
        "lists": rfe(X, y, feature_groups=[[1, 4], [0, 2, 3]], safeguard=0.3),
        "labels": rfe(X, y, feature_groups=list("abaabcde"), given={"sample_weight": weight}),
        "frame": rfe(pd.DataFrame(X, columns=list("abcdefgh")), y, feature_groups={"one": ["b", "e"]}),
    }


def rfe_estimator():
    X, y = numbers(80, 7)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    halves = {"stopping": "held-out", "random_state": 0}
    return {
        "least squares": rfe(X, y, estimator=LinearRegression()),
        "ridge": rfe(X, y, estimator=Ridge(), loss="epsilon_insensitive"),
        "logistic": rfe(X, classes(y), estimator=LogisticRegression(), loss="logistic"),
        "forest": rfe(X, classes(y), estimator=forest, loss="hinge", step=3, **halves),
    }


def rfe_stopping():
    X, y, _ = make("make_rational", 100, n_features=7, random_state=5)
    fixed = {"regularization": 1e-4, "bandwidth": 3.0, "random_state": 0}
    rules = {
        "threshold": make("Threshold", 0.5),
        "falling threshold": make("Threshold", lambda size: 1.0 / size),
        "linear": make("ChangePoint", 1),
        "cubic": make("ChangePoint", degree=3),
        **{name: name for name in ("loo-ric", "change-point", "held-out")},
        "three": 3,
    }
    return {name: rfe(X, y, stopping=rule, **fixed) for name, rule in rules.items()}


def rfe_paper():
    X, y = products(70, 7)
    return {
        "hinge": rfe(X, classes(y), how="RiskRFE.paper"),
        "squared": rfe(X, y, how="RiskRFE.paper", loss="squared", kernel="rbf", safeguard=0.2),
    }


def rfe_sequences():
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), size=30)) for _ in range(60)]
    labels = np.array(["GTA" in sequence for sequence in sequences])
    features = make("MismatchFeatures", k=3, m=1).fit(sequences)
    X = features.transform(sequences)
    found = rfe(X, labels, loss="hinge", kernel="linear", regularization=0.01, step=0.3, stopping=9)
    return found | {"words": features.get_feature_names_out(), "counts": X}


# ---- DatumwiseClassifier ----

DATUMWISE = "classes units learned_units usage value stop_reason"


def quick(**options):
    return make("PolicyIteration", **{"n_iter": 3, "n_restarts": 2, "states_per_row": 8, **options})


def bought(model, X):
    """What some cases buy and answer."""
    methods = ("predict", "predict_proba", "acquire", "cost", "sparsity")
    order = [", ".join(names) for names in call(model, "acquisition_order", X)]
    return {name: call(model, name, X) for name in methods} | {"order": order}


def recorded_seed(seed=0):
    """The generator that a seed stood for when the traces were recorded."""
    return np.random.default_rng(np.random.RandomState(seed).randint(2**31))


def datumwise(X, y, given=None, how="DatumwiseClassifier", tree=False, **options):
    if how == "DatumwiseClassifier":
        options = {"learning": quick(), **options}
    model = make(how, **{"random_state": recorded_seed(), **options})
    call(model, "fit", X, y, **(given or {}))
    path = attribute(model, "path")
    if isinstance(path, list):
        path = {key: [row[key] for row in path] for key in (path[0] if path else ())}
    found = traced(model, DATUMWISE) | {"path": path} | bought(model, X[:40])
    return found | ({"tree": str(call(model, "question_tree", X))} if tree else {})


def datumwise_default():
    X, y = three_classes()
    model = make("DatumwiseClassifier", random_state=recorded_seed())
    call(model, "fit", X[:100], y[:100])
    return traced(model, DATUMWISE) | bought(model, X[100:]) | {"tree": str(call(model, "question_tree", X))}


def datumwise_budgets():
    X, y = three_classes(120)
    return {
        "budget": datumwise(X, y, budget=2),
        "nothing": datumwise(X, y, budget=0),
        "cost budget": datumwise(X, y, costs=np.linspace(0.01, 0.07, 7), cost_budget=0.08),
    }


def datumwise_costs():
    X, y = three_classes()
    errors = [[-1, 2, 3], [1, 0, 1], [4, 1, 0]]
    return {
        "costs": datumwise(X, y, costs={"x0": 0.1, "x2": 0.0}),
        "errors": datumwise(X, y, error_costs=errors, feature_cost=0.05),
    }


def datumwise_groups():
    X, y = three_classes()
    groups = {"a": [0, 5], "b": [1, 2, 6], "c": [3], "d": [4]}
    return {
        "groups": datumwise(X, y, feature_groups=groups),
        "linear": datumwise(X, y, scoring="linear", feature_groups=list("abbcdae")),
    }


def datumwise_relations():
    X, y = three_classes(120)
    chain = np.eye(7, k=1) + np.eye(7, k=-1)
    return {
        "any": datumwise(X, y, related=chain, unrelated_cost=0.05),
        "all": datumwise(X, y, related=chain > 0, relation="all", feature_cost=0.001),
        "needs": datumwise(X, y, prerequisites={1: [0], "x2": "x3"}),
    }


def datumwise_learning():
    X, y = three_classes(120)
    return {
        "no folds": datumwise(X, y, learning=quick(n_folds=1, n_averaged=1, n_stages=1)),
        "one climb": datumwise(X, y, learning=quick(n_restarts=1, inertia=0.3, ridge=1.0), n_bins=4),
        "screened": datumwise(X, y, learning=quick(screen=4, max_states=300)),
    }


def datumwise_exact():
    X = np.random.default_rng(0).integers(0, 2, size=(300, 3))
    return datumwise(X, np.where(X[:, 0] == 1, X[:, 1], X[:, 2]), learning="auto", tree=True)


def datumwise_paper():
    X, y = three_classes(80, 5)
    learning = make("PaperIteration", n_iter=3, states_per_row=4, n_rollouts=2, keep="best")
    how = "DatumwiseClassifier.paper"
    return {
        "best": datumwise(X, y, how=how, learning=learning, feature_cost=0.02),
        "last": datumwise(X, y, how=how, learning=make("PaperIteration", n_iter=3)),
    }


def datumwise_frame():
    frame = people(120, gaps=0.2)
    y = np.where(frame.pop("spent") > 3.5, "much", "little")
    frame.loc[::9, "city"] = None
    return {
        "bins": datumwise(frame, y, tree=True, feature_cost=0.001),
        "linear": datumwise(frame, y, scoring="linear"),
        "polars": datumwise(pl.from_pandas(frame), y),
    }


def datumwise_weights():
    X, y = three_classes(100)
    thin = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
    return {
        "weights": datumwise(X, y, {"sample_weight": np.random.default_rng(0).integers(0, 3, 100)}),
        "sparse": datumwise(thin, y),
    }


def datumwise_session():
    frame = people(gaps=0.2)
    y = np.where(frame.pop("spent") > 3.0, "much", "little")
    model = make("DatumwiseClassifier", feature_cost=0.0001, learning=quick(), random_state=recorded_seed())
    call(model, "fit", frame, y)
    found = {}
    for i in range(8):
        session, row = call(model, "start"), frame.iloc[i].to_dict()
        while (question := call(session, "next")) is not None:
            call(session, "tell", row[question])
        result = call(session, "result")
        found[str(i)] = traced(result, "label probabilities acquired cost")
    return found


# ---- treatment regimes ----

WORTH = "value standard_error interval confidence method scores"


def worth(found):
    return traced(found, WORTH)


def trial(setting="I", n=80, p=5, n_stages=2, propensity="randomized", seed=0, **options):
    simulated = make("make_regime_trial", setting, n, p, random_state=seed)
    stages = [stage | {"propensity": propensity} for stage in simulated.stages[:n_stages]]
    return make("TrialData.from_wide", simulated.columns, stages, **options)


def regime(data, how="QLearning", **options):
    learner = make(how, **{"random_state": 0, **options})
    call(learner, "fit", data)
    found = traced(learner, "selected tailoring prognostic path model stop_reason n_stages")
    found |= {"value": worth(attribute(learner, "value")), "observed": worth(attribute(learner, "observed"))}
    found["rules"] = str(attribute(learner, "regime"))
    values = "q_values" if has(learner, "q_values") else "advantages"
    for stage in range(1, data.n_stages + 1):
        found[f"predict {stage}"] = call(learner, "predict", data, stage=stage)
        found[f"{values} {stage}"] = call(learner, values, data, stage=stage)
    names = "sizes value standard_error difference difference_standard_error groups"
    paths = attribute(learner, "tailoring_path") if learnt(learner, "tailoring_path") else []
    found["tailoring_path"] = [None if path is None else traced(path, names) for path in paths]
    return found


def regimes_default():
    return regime(trial())


def regimes_one_stage():
    data = trial("II", 90, 6, n_stages=1, propensity="estimate")
    return {"auto": regime(data), "advantage": regime(data, "AdvantageLearning", model="anova")}


def regimes_three_stages():
    return regime(trial("III", 70, 5, n_stages=3), model="linear", discount=0.9)


def regimes_models():
    data = trial(n=60)
    return {
        "linear": regime(data, model="linear", maximize=False),
        "rbf": regime(data, model="rbf", selection=None),
        "estimator": regime(data, model=Ridge(), selection=None, discount=0.5),
    }


def regimes_trees():
    return regime(trial(n=40, n_stages=1), model="trees", selection=None)


def regimes_rfe():
    data = trial("II", 70, 5)
    return {"rfe": regime(data, selection="rfe"), "rfe-test": regime(data, selection="rfe-test")}


def regimes_vpred():
    return regime(trial(n=50), selection="rfe-vpred")


def regimes_advantage():
    data = trial(n=70)
    return {
        "linear": regime(data, "AdvantageLearning", model="linear"),
        "rfe": regime(data, "AdvantageLearning", model="linear", selection="rfe"),
    }


def regimes_leaving():
    rng = np.random.default_rng(0)
    n = 150
    x, (first, second) = rng.standard_normal(n), rng.choice([0, 1], size=(2, n))
    stays = rng.random(n) < 1.0 / (1.0 + np.exp(-1.0 - x))
    columns = {
        "x": x,
        "city": rng.choice(["Oslo", "Paris", "Rome"], n),
        "A": first,
        "R": first * x,
        "B": np.where(stays, second, np.nan),
        "S": np.where(stays, 2.0 + x + second * x + 0.5 * rng.standard_normal(n), np.nan),
    }
    stages = [{"history": ["x", "city"], "action": "A", "reward": "R"}, {"action": "B", "reward": "S"}]
    data = make("TrialData.from_wide", columns, stages, leaving="weights")
    return regime(data, model="linear") | {"fixed": worth(make("regime_value", data, [1, 1], method="ipw"))}


def sign_rule(history, stage):
    return np.where(history["X1_3"] > 0, 1, -1)


def regimes_value():
    data = trial(n=100, propensity={-1: 0.5, 1: 0.5})
    fixed = {"model": "linear", "random_state": 0}
    learner = make("QLearning", model="linear", random_state=0)
    return {
        **{m: worth(make("regime_value", data, [1, 1], method=m, **fixed)) for m in ("dr", "ipw", "plug-in")},
        "learner": worth(make("regime_value", data, learner, n_folds=3, confidence=0.9, **fixed)),
        "rule": worth(make("regime_value", data, sign_rule, discount=0.5, **fixed)),
        "observed": worth(make("regime_value", data, "observed")),
    }


def regimes_compare():
    data = trial(n=80)
    rules = {"one": [1, 1], "rule": sign_rule, "observed": "observed"}
    compared = make("compare_regimes", data, rules, model="anova", random_state=0)
    found = {name: worth(value) for name, value in attribute(compared, "values").items()}
    return found | {"difference": worth(call(compared, "difference", "one", "rule"))}


# ---- temporal process regression ----


def long_data(n=100, n_times=6, seed=0, missing=0.08):
    """Correlated subjects, a time-varying and two baseline covariates, some rows absent."""
    rng = np.random.default_rng(seed)
    who, t = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    trait = rng.normal(size=n)[who]
    data = pd.DataFrame({"id": who, "t": t, "x": 0.5 * trait + rng.normal(size=len(who))})
    data["z"] = rng.normal(size=n)[who]
    data["g"] = rng.choice(list("abc"), size=n)[who]
    eta = 0.2 + 0.8 * np.cos(t / 2) * data["x"] + 0.3 * data["z"] + 0.5 * trait
    data["y"] = (rng.random(len(who)) < 1 / (1 + np.exp(-eta))).astype(int)
    data["v"] = eta + rng.normal(size=len(who))
    data["c"] = rng.poisson(np.exp(0.4 * eta))
    data["w"] = rng.integers(1, 3, len(who))
    return data[rng.random(len(data)) >= missing].reset_index(drop=True)


def process(data, formula, weights=None, **options):
    model = make("TemporalProcessRegression", formula, **options)
    return call(model, "fit", data, id="id", time="t", weights=weights)


def curves(model, data=None):
    smoothed = "smoothed_coef smoothed_se bandwidth bandwidth_path"
    found = traced(model, "times coef se influence n_available flags", smoothed)
    return found if data is None else found | {"predict": call(model, "predict", data)}


def band(found):
    return traced(found, "estimate lower upper level critical kind")


def tested(found):
    return traced(found, "statistic df pvalue kind estimate se times excluded")


def effect_table(account):
    """Numbers of the first table of an account, one row per covariate."""
    return np.array([row[1:] for row in account.dict["sections"][0]["rows"]], dtype=float)


def temporal_identity():
    data = long_data()
    model = process(data, "v ~ x + z + g")
    draws = {"n_draws": 200, "random_state": 0}
    kinds = {kind: tested(call(model, "test", "g", kind=kind, **draws)) for kind in ("ids", "sds", "squared")}
    late = {"interval": (1, 4), "weights": "inverse-se", "integral": "trapezoid", "convention": "n-1"}
    return curves(model, data) | {
        "test": kinds,
        "late": tested(call(model, "test", ["x", "z"], value=0.2, kind="sds", **late, **draws)),
        "constant": tested(call(model, "test_constant", "x", **draws)),
        "nested": tested(call(model, "compare", process(data, "v ~ x"), **draws)),
        "interval": band(call(model, "conf_int", 0.9)),
        "sup": band(call(model, "bands", **draws)),
        "dissertation": band(call(model, "bands", 0.9, method="dissertation", **draws)),
        "refit": band(call(model, "bands", resample="refit", n_draws=20, random_state=0)),
        "summary": effect_table(call(model, "report", n_draws=50)),
    }


def temporal_logit():
    data = long_data()
    data["y"] = data["y"].where(data["t"] != 2, 1)
    model = process(data, "y ~ x * g + z", link="logit", weights="w")
    draws = {"n_draws": 200, "random_state": 0}
    return curves(model, data) | {
        "test": tested(call(model, "test", "x:g", kind="sds", **draws)),
        "sup": band(call(model, "bands", **draws)),
        "probit": curves(process(data, "y ~ x", link="probit")),
        "cloglog": curves(process(data, "y ~ x", link="cloglog")),
    }


def temporal_log():
    data = long_data()
    model = process(data, "c ~ x + z", link="log")
    draws = {"n_draws": 200, "random_state": 0}
    return curves(model, data) | {
        "test": tested(call(model, "test", "z", **draws)),
        "sup": band(call(model, "bands", **draws)),
        "variance": curves(process(data, "c ~ x", link="log", variance="gaussian")),
    }


def temporal_smoothing():
    data = long_data(80, 12)
    found = {}
    for width, kernel in ((2.0, "triangular"), ("cv", "epanechnikov"), ("cv-times", "gaussian")):
        model = process(data, "v ~ x", bandwidth=width, kernel=kernel)
        found[kernel] = curves(model) | {
            "predict": call(model, "predict", data[:40], smoothed=True),
            "sup": band(call(model, "bands", smoothed=True, n_draws=100, random_state=0)),
        }
    return found


def temporal_constant():
    data = long_data()
    return {
        "identity": curves(process(data, "v ~ x + z + g", constant=["z", "g"]), data),
        "logit": curves(process(data, "y ~ x + z", link="logit", constant=["z"]), data),
    }


def temporal_selection():
    data = long_data(150)
    noise = np.random.default_rng(1).standard_normal((2, len(data)))
    data = data.assign(noise0=noise[0], noise1=noise[1])
    model = process(data, "v ~ x * g + z + noise0 + noise1")
    found = {}
    for test in ("ids", "sds"):
        chosen = call(model, "backward_selection", kind=test, n_draws=200, random_state=0)
        steps = attribute(chosen, "steps")
        found[test] = traced(chosen, "selected dropped") | {name: steps[name] for name in steps}
        found[test]["coef"] = attribute(attribute(chosen, "model"), "coef")
    return found


def temporal_arrays():
    data = long_data()
    model = make("TemporalProcessRegression")
    X, y = data[["x", "z"]].to_numpy(), data["v"].to_numpy()
    call(model, "fit", X, y, id=data["id"], time=data["t"], available=data["w"] == 1)
    between = call(model, "predict", X[:20], time=np.linspace(0.0, 5.0, 20))
    dates = data.assign(t=pd.Timestamp("2024-01-01") + pd.to_timedelta(data["t"], unit="D"))
    return curves(model) | {"predict": between, "dates": curves(process(dates, "v ~ x", bandwidth=2.0))}


def temporal_cvm():
    rng = np.random.default_rng(0)
    ids, visit = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    value = rng.normal(size=40)[ids] + rng.normal(size=160) + 0.5 * (ids < 15)
    found = {}
    for null in ("centred", "pooled", "permutation"):
        test = make("two_sample_cvm", value, ids < 15, ids, visit, null=null, n_draws=300, random_state=0)
        found[null] = traced(test, "statistic pvalue groups n_subjects n_readings null by_visit")
    return found


KINDS = ("revs_", "acp_", "rfe_", "datumwise_", "regimes_", "temporal_")
CASES = {name.replace("_", "-"): case for name, case in list(globals().items()) if name.startswith(KINDS)}

# ---- recording and comparing ----

CANONICAL = {new: old for old, names in RENAMED.items() for new in names}


def flatten(value, name, fields):
    """Nested dicts and lists as one dict of leaves."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in SKIPPED:
                flatten(inner, f"{name}.{CANONICAL.get(key, key)}" if name else str(key), fields)
    elif isinstance(value, list | tuple) and any(isinstance(v, dict | list | np.ndarray) for v in value):
        for k, inner in enumerate(value):
            flatten(inner, f"{name}.{k}", fields)
    else:
        fields[name] = leaf(value)
    return fields


def leaf(value):
    """An array as plain numbers or strings, shortened where it is large."""
    array = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
    out, flat = {"shape": list(array.shape)}, array.ravel()
    if array.dtype.kind == "f":
        flat = flat.astype(float)
        if flat.size > 48:
            picked = np.linspace(0, flat.size - 1, 24).astype(int)
            known = np.where(np.isfinite(flat), flat, 0.0)
            means = [known.mean(), (known * np.cos(np.arange(flat.size))).mean(), np.isnan(flat).mean()]
            flat = np.concatenate([flat[picked], means])
        return out | {"numbers": flat.tolist()}
    exact = flat.astype(int).tolist() if array.dtype.kind in "biu" else [str(v) for v in flat]
    if len(exact) > 64:
        exact = [hashlib.sha1(json.dumps(exact).encode()).hexdigest()]
    return out | {"exact": exact}


def difference(expected, found):
    """What differs between two leaves, or None."""
    if found is None:
        return "is not there"
    if expected["shape"] != found["shape"] or expected.keys() != found.keys():
        return f"{expected} became {found}"[:160]
    if "exact" in expected:
        before = [REWORDED.get(one, one) for one in expected["exact"]]
        wrong = [(a, b) for a, b in zip(before, found["exact"], strict=True) if a != b]
        return f"{len(wrong)} differ, first {wrong[0][0]!r} became {wrong[0][1]!r}" if wrong else None
    a, b = np.array(expected["numbers"]), np.array(found["numbers"])
    wrong = ~np.isclose(b, a, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    if not wrong.any():
        return None
    k = np.flatnonzero(wrong)[np.abs(b - a)[wrong].argmax()]
    return f"{wrong.sum()} of {len(a)} differ, most {a[k]:.17g} became {b[k]:.17g}"


def run(function):
    """Fields of a case, and its seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fields = flatten(function(), "", {})
    return fields, time.perf_counter() - start


def record(path, cases):
    known = {"versions": {name: version(name) for name in PACKAGES}, "cases": {}}
    for name, function in cases.items():
        known["cases"][name], seconds = run(function)
        print(f"{seconds:6.2f} s  {name}: {len(known['cases'][name])} fields", flush=True)
    text = json.dumps(known, separators=(",", ":")).encode()
    # without a time stamp: the same traces give the same file
    path.write_bytes(gzip.compress(text, 9, mtime=0))
    return 0


def compare(path, cases):
    known = json.loads(gzip.decompress(path.read_bytes()))
    here = {name: version(name) for name in PACKAGES}
    if known["versions"] != here:
        print(f"recorded with {known['versions']}, compared with {here}: last digits may differ")
    failed = 0
    for name, expected in known["cases"].items():
        if name not in cases:
            continue
        start = time.perf_counter()
        try:
            found, seconds = run(cases[name])
            wrong = {key: difference(expected[key], found.get(key)) for key in expected}
            wrong = {key: words for key, words in wrong.items() if words}
        except Exception as error:
            seconds, wrong = time.perf_counter() - start, {type(error).__name__: str(error)}
        print(f"{seconds:6.2f} s  {name}: {f'{len(wrong)} DIFFER' if wrong else 'ok'}", flush=True)
        for key, words in wrong.items():
            print(f"             {key}: {words}")
        failed += bool(wrong)
    print(f"{failed} cases differ" if failed else "all ok")
    return int(failed > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--cases", default="*", help="comma-separated names or patterns")
    args = parser.parse_args()
    patterns = args.cases.split(",")
    cases = {name: f for name, f in CASES.items() if any(fnmatch(name, one) for one in patterns)}
    start = time.perf_counter()
    status = (record if args.what == "record" else compare)(args.file, cases)
    print(f"{len(cases)} cases, {time.perf_counter() - start:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
