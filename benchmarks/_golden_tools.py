"""How golden cases reach what is public under its present name, and the small data they share."""

from importlib import import_module
from inspect import signature

import numpy as np
import pandas as pd
import pyarrow as pa

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
