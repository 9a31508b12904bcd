"""A fitted policy as plain values, and as a web page that asks one question at a time."""

import base64
import json
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import BinEncoder
from rlselect.datumwise._exact import TablePolicy, strides_of
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._network import LEAK
from rlselect.datumwise._network_inputs import ScoreEncoder
from rlselect.datumwise._network_policy import NetworkFamily, NetworkPolicy
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._sure import Promise

__all__ = ["policy_page", "policy_values"]


def policy_values(fitted: FittedPurchases) -> dict[str, Any]:
    """All that it takes to ask and to answer, as values that JSON has: numbers, lists, and packed arrays."""
    features, rules = fitted.features, fitted.policy.rules
    columns = fitted.columns.tolist()
    return {
        "format": 1,
        "classes": [str(label) for label in fitted.classes],
        "values": None if fitted.variance is None else fitted.classes.tolist(),
        "features": [{"name": features.feature_names[j], "levels": features.answers(j)} for j in columns],
        "units": [
            {"name": str(name), "price": float(price), "features": group.tolist()}
            for name, price, group in zip(rules.names, rules.prices, rules.groups, strict=True)
        ],
        "rules": _rules(rules),
        "expected": fitted.expected,
        "then": [
            [[str(name), share] for name, share in fitted.reasons.next_names(u, rules).items()]
            for u in range(rules.n_units)
        ],
        "policy": _policy(fitted),
        "promise": _promise(fitted.promise),
    }


def policy_page(fitted: FittedPurchases, title: str) -> str:
    """A page that needs nothing but itself."""
    template = files("rlselect.datumwise").joinpath("questions.html").read_text(encoding="utf-8")
    values = json.dumps(policy_values(fitted), separators=(",", ":"), allow_nan=False)
    # a name that ends the script must not end it
    values = values.replace("<", "\\u003c")
    return template.replace("/*TITLE*/", escape(title)).replace("/*POLICY*/", values)


def _rules(rules: PurchaseRules) -> dict[str, Any]:
    def listed(values: NDArray | None) -> list[Any] | None:
        return None if values is None else values.tolist()

    return {
        "losses": rules.losses.tolist(),
        "budget": rules.budget,
        "cost_budget": rules.cost_budget,
        "related": listed(rules.related),
        "relation": rules.relation,
        "unrelated": listed(rules.unrelated),
        "needs": listed(rules.needs),
        "copies": listed(rules.copies),
    }


def _promise(promise: Promise | None) -> dict[str, Any] | None:
    if promise is None:
        return None
    # JSON has no infinity, and no answer is surer than sure
    return {"threshold": min(promise.threshold, 2.0), "buy_more": promise.buy_more}


def _policy(fitted: FittedPurchases) -> dict[str, Any]:
    policy, encoder = fitted.policy, fitted.encoder
    if isinstance(policy, NetworkPolicy) and isinstance(encoder, ScoreEncoder):
        return _network(policy, encoder)
    if isinstance(policy, AdditivePolicy) and isinstance(encoder, BinEncoder):
        values = {"theta": _packed(policy.theta[:, :-1]), "shares": _packed(policy.shares)}
        margins = [np.broadcast_to(own, policy.rules.n_units).tolist() for own in policy.margins]
        own = {"stage": policy.stage.tolist(), "margins": margins, "thrift": float(policy.thrift)}
        own["temperatures"] = policy.temperatures.tolist()
        return {"kind": "bins", **_bins(encoder), **own, **values}
    if isinstance(policy, TablePolicy) and isinstance(encoder, BinEncoder):
        return {
            "kind": "table",
            **_bins(encoder),
            "values": [rows.tolist() for rows in policy.values],
            "strides": strides_of(policy.values).tolist(),
            "table": [[v if np.isfinite(v) else None for v in row] for row in policy.table.tolist()],
            "shares": policy.shares.tolist(),
            "thrift": float(policy.thrift),
        }
    raise ValueError(
        "scores of scoring='linear' cannot be exported; use scoring='bins', 'network' or 'auto'."
    )


def _bins(encoder: BinEncoder) -> dict[str, Any]:
    return {
        "width": encoder.width_,
        "offset": encoder.offset_.tolist(),
        "edges": [edges.tolist() for edges in encoder.edges_],
    }


def _network(policy: NetworkPolicy, encoder: ScoreEncoder) -> dict[str, Any]:
    return {
        "kind": "network",
        "levels": [levels.tolist() for levels in encoder.levels_],
        "scores": [scores.tolist() for scores in encoder.scores_],
        "reward": policy.reward,
        "logarithm": bool(policy.logarithm),
        "lookahead": bool(policy.lookahead),
        "price": float(policy.price),
        "log_price": float(np.log10(policy.price)),
        "mean_price": float(policy.rules.prices.mean()),
        "temperature": policy.temperature,
        "families": [_family(family) for family in policy.families],
    }


def _family(family: NetworkFamily) -> dict[str, Any]:
    columns = family.columns
    lines = {name: getattr(columns, name).tolist() for name in ("owner", "low", "slope")}
    for name in ("least", "most"):
        lines[name] = [v if np.isfinite(v) else None for v in getattr(columns, name).tolist()]
    return {
        "columns": lines,
        "members": len(family.weights),
        "size": family.shape.size,
        "layers": family.shape.layers(),
        "leak": float(LEAK),
        "weights": _packed(family.weights),
    }


def _packed(values: NDArray) -> str:
    """Single-precision numbers, little end first, in base 64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
