"""How a formula codes columns, as plain values: what files and other processes get of the formula library."""

from typing import Any

from rlselect.temporal._formula_safety import variables_in

__all__ = ["coding_of", "plain_coding"]

# set anew whenever levels are coded; the levels themselves are kept
_DERIVED = "contrasts"


def plain_coding(spec: Any) -> dict[str, Any]:
    """Factors, terms and columns of a `ModelSpec`, with what its transformations and codings have learnt."""
    factors = {factor.expr: factor for term in spec.formula for factor in term.factors}
    evaluated = {
        s.factor.expr: s.factor for row in spec.structure for t in row.scoped_terms for s in t.factors
    }
    return {
        "factors": {expr: [f.eval_method.value, f.kind.value] for expr, f in factors.items()},
        "variables": {
            expr: [
                [str(v), sorted(role.value for role in v.roles), v.source] for v in sorted(f.variables or ())
            ]
            for expr, f in evaluated.items()
        },
        "terms": [[factor.expr for factor in term.factors] for term in spec.formula],
        "structure": [
            [
                [factor.expr for factor in row.term.factors],
                [[[[s.factor.expr, s.reduced] for s in t.factors], t.scale] for t in row.scoped_terms],
                list(row.columns),
            ]
            for row in spec.structure
        ],
        "transforms": spec.transform_state,
        "codings": {
            expr: [kind.value, {name: value for name, value in state.items() if name != _DERIVED}]
            for expr, (kind, state) in spec.encoder_state.items()
        },
        "materializer": spec.materializer,
        "full_rank": spec.ensure_full_rank,
    }


def coding_of(plain: dict[str, Any]) -> Any:
    """The `ModelSpec` that `plain_coding` was given; nothing of its expressions is evaluated."""
    from formulaic import ModelSpec
    from formulaic.formula import SimpleFormula
    from formulaic.materializers.base import EncodedTermStructure
    from formulaic.materializers.types import EvaluatedFactor, ScopedFactor, ScopedTerm
    from formulaic.parser.types import Factor, Term
    from formulaic.utils.variables import Variable

    for expr, (method, _) in plain["factors"].items():
        # the only ones that `predict` evaluates; the others are looked up, or read as numbers
        if method == Factor.EvalMethod.PYTHON.value:
            variables_in(expr, ())
    factors = {
        expr: Factor(expr, eval_method=method, kind=kind) for expr, (method, kind) in plain["factors"].items()
    }

    def term(names: list[str]) -> Any:
        return Term([factors[name] for name in names])

    evaluated = {
        expr: EvaluatedFactor(
            factors[expr], None, {Variable(name, roles=roles, source=source) for name, roles, source in used}
        )
        for expr, used in plain["variables"].items()
    }

    def scoped(parts: list[list[Any]], scale: Any) -> Any:
        return ScopedTerm([ScopedFactor(evaluated[name], reduced) for name, reduced in parts], scale=scale)

    return ModelSpec(
        formula=SimpleFormula([term(names) for names in plain["terms"]], _ordering="none"),
        materializer=plain["materializer"],
        ensure_full_rank=plain["full_rank"],
        na_action="ignore",
        output="numpy",
        structure=[
            EncodedTermStructure(term(names), [scoped(*part) for part in parts], columns)
            for names, parts, columns in plain["structure"]
        ],
        transform_state=plain["transforms"],
        encoder_state={expr: (Factor.Kind(kind), state) for expr, (kind, state) in plain["codings"].items()},
    )
