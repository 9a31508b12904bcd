"""Golden cases of the selectors: REVS, ActorCriticPredictor, RiskRFE."""

import tempfile
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

from _golden_tools import (
    attribute,
    call,
    classes,
    counts,
    has,
    make,
    numbers,
    people,
    products,
    table,
    three_classes,
    traced,
)

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
    if "coef" in found:
        # recorded for the selected features alone
        found["coef"] = found["coef"][..., model.support_[model.encoder_.column_feature_]]
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
