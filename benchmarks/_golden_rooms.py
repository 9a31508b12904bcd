"""Golden cases of the other rooms: datum-wise, regimes, temporal."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.linear_model import Ridge

from _golden_tools import attribute, call, has, learnt, make, people, three_classes, traced

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
    model = make("DatumwiseClassifier", scoring="bins", random_state=recorded_seed())
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
    # recorded as the names in their order, without the steps they left in
    for path in filter(None, found["path"]):
        path["eliminated"] = [name for names in path["eliminated"] for name in names]
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
