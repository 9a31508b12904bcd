import builtins

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.temporal._formula_safety import refuse_code, variables_in

# each of them would set the flag, read a file, or look where no formula has business, if it were evaluated
HOSTILE = [
    "v ~ canary()",
    "v ~ {canary()}",
    "v ~ x + {__import__('builtins').canary()}",
    "v ~ __import__('builtins').canary()",
    "v ~ I(canary())",
    "v ~ log(canary())",
    "v ~ log(x, canary())",
    "v ~ log(x=canary())",
    "v ~ C(g, contrasts=canary())",
    "v ~ C(g, levels=[canary()])",
    "v ~ C(g, levels=[y for y in [canary()]])",
    "v ~ I((lambda: canary())())",
    "v ~ I([canary() for _ in x])",
    "v ~ I({canary()})",
    "v ~ I((w := canary()))",
    "v ~ I(x.apply(canary))",
    "v ~ x.apply(canary)",
    "v ~ I(x.__class__)",
    "v ~ I(().__class__.__base__.__subclasses__())",
    "v ~ np.log(x)",
    "v ~ np.fromfile('canary')",
    "v ~ np",
    "v ~ I(np.load('canary', allow_pickle=True))",
    "v ~ eval('canary()')",
    "v ~ exec('canary()')",
    "v ~ I(f'{canary()}')",
    "v ~ Q('x')",
    "v ~ Q(canary())",
    "v ~ hashed(x, levels=2, hash_func=canary)",
    "v ~ lag(x, canary())",
    "v ~ x[canary()]",
    "v ~ I(x[canary()])",
    "v ~ log(x)(canary())",
    "v ~ log(x)[canary()]",
    "v ~ log(x).apply(canary)",
    "v ~ [canary() ~ x]",
    "v ~ x | canary()",
    "v ~ x %in% canary()",
    "v ~ center(x, _state=canary())",
    "v ~ center(x, _context=canary())",
    "v ~ center(x, **canary())",
    "v ~ center(*canary())",
    "v ~ center(x if canary() else z)",
    "v ~ center(x or canary())",
    "v ~ center(x # comment\n) + canary()",
    "v ~ C(g, Treatment('a\"] and canary() and [\"'))",
    "v ~ C(g, Treatment(\"a'] and canary() and ['\"))",
    "v ~ C(g, Treatment('a\\\\\"] and canary() and [\"'))",
    "v ~ C(g, Treatment('a') + canary())",
    "v ~ contr.treatment(canary())",
    'v ~ center(`x"`+`"+canary()+"`)',
    "v ~ center(`x` + canary())",
    "v ~ center(`lambda`)",
    "v ~ `canary`()",
    "v ~ `__import__`('builtins').canary()",
    "v ~ center(__FORMULAIC_CONTEXT__)",
    "v ~ center(__FORMULAIC_SPEC__)",
    "v ~ \uff45\uff56\uff41\uff4c('canary()')",
    "v ~ I(x; canary())",
    "v ~ I(yield canary())",
    "v ~ I(await canary())",
    "v ~ log(x) \\ canary()",
    "canary() ~ x",
    "{canary()} ~ x",
    "log(v).apply(canary) ~ x",
    "v ~ I(9**9**9**9**9)",
    "v ~ I(x**(9**9**9))",
    "v ~ (x + z + g)**99999999",
    "v ~ " + "(" * 5000 + "x" + ")" * 5000,
    "v ~ I(" + "(" * 5000 + "x" + ")" * 5000 + ")",
    "v ~ I(" + "-" * 100_000 + "x)",
    "v ~ x**" + "9" * 10_000,
    "v ~ log(x",
    "v ~ `x",
    "v ~ .",
    "v ~ x\x00",
]


@pytest.fixture
def canary(monkeypatch):
    """A builtin that tells who called it: formulas are evaluated where builtins are known."""
    calls = []
    monkeypatch.setattr(builtins, "canary", lambda *a, **k: calls.append(a) or 1.0, raising=False)
    return calls


@pytest.mark.parametrize("formula", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_formula_is_refused_and_nothing_runs(formula, data, canary):
    model = TemporalProcessRegression(formula, link="identity")
    with pytest.raises(ValueError, match=r"allowed are names of columns|not a column") as caught:
        model.fit(data, id="id", time="t")
    assert canary == []
    assert not hasattr(model, "coef_")
    assert len(str(caught.value)) < 900


def test_the_canary_sings_where_the_library_is_asked_directly(data, canary):
    import formulaic

    formulaic.Formula("v ~ {canary()}").get_model_matrix(data)
    assert canary


def test_names_of_columns_are_no_code(data, canary):
    odd = data.rename(columns={"x": "canary()", "z": "a b"})
    odd["{canary()}"] = np.random.default_rng(0).normal(size=len(odd))
    formula = "v ~ `canary()` + `a b` + `{canary()}` + center(`a b`):`canary()`"
    model = TemporalProcessRegression(formula, link="identity").fit(odd, id="id", time="t")
    plain = odd.rename(columns={"canary()": "q", "a b": "r", "{canary()}": "s"})
    same = TemporalProcessRegression("v ~ q + r + s + center(r):q", link="identity")
    same.fit(plain, id="id", time="t")
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(odd), same.predict(plain), rtol=1e-10)
    # selection writes formulas itself
    left = model.backward_selection(alpha=1e-12, always_select=["canary()"], random_state=0).model
    assert "`canary()`" in left.formula
    again = TemporalProcessRegression(left.formula, link="identity").fit(odd, id="id", time="t")
    np.testing.assert_allclose(again.coef_, left.coef_, rtol=1e-10)
    np.testing.assert_allclose(left.predict(odd), again.predict(odd), rtol=1e-10)
    assert canary == []


def test_a_formula_that_a_fitted_model_holds_is_checked_again(data, canary):
    import formulaic

    model = TemporalProcessRegression("v ~ x", link="identity").fit(data, id="id", time="t")
    evil = formulaic.Formula("v ~ {canary() + x}").get_model_matrix(data).rhs.model_spec
    canary.clear()
    object.__setattr__(model._fitted.design, "spec", evil)
    with pytest.raises(ValueError, match="allowed are names of columns"):
        model.predict(data)
    assert canary == []


GOOD = {
    "v ~ x + z - 1": lambda d: d[["x", "z"]],
    "v ~ 0 + log(c + 1) + sqrt(c)": lambda d: np.column_stack([np.log(d["c"] + 1), np.sqrt(d["c"])]),
    "v ~ 0 + abs(x) + I(x**2 / 2)": lambda d: np.column_stack([abs(d["x"]), d["x"] ** 2 / 2]),
    "v ~ 0 + log1p(c) + x:z": lambda d: np.column_stack([np.log1p(d["c"]), d["x"] * d["z"]]),
    "v ~ 0 + exp(-x)": lambda d: np.exp(-d[["x"]]),
    "v ~ 0 + x + I(x * -2.5e-1 * z)": lambda d: np.column_stack([d["x"], d["x"] * -0.25 * d["z"]]),
}


@pytest.mark.parametrize("formula", GOOD)
def test_what_is_allowed_is_what_it_says(formula, data):
    model = TemporalProcessRegression(formula, link="identity").fit(data, id="id", time="t")
    assert set(model.coef_.columns) <= set(model._fitted.design.names)
    columns = np.asarray(GOOD[formula](data), dtype=float)
    by_hand = pd.DataFrame(columns, columns=[f"c{j}" for j in range(columns.shape[1])])
    by_hand[["id", "t", "v"]] = data[["id", "t", "v"]]
    names = " + ".join(f"c{j}" for j in range(columns.shape[1]))
    same = TemporalProcessRegression(f"v ~ 0 + {names}", link="identity").fit(by_hand, id="id", time="t")
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(data), same.predict(by_hand), rtol=1e-8)


@pytest.mark.parametrize(
    "formula",
    [
        "v ~ C(g)",
        "v ~ C(g, Treatment('b'))",
        "v ~ C(g, contrasts=Treatment(reference='b')) + x",
        "v ~ C(g, Sum())",
        "v ~ C(g, levels=['c', 'b', 'a'])",
        "v ~ center(x) + scale(z)",
        "v ~ poly(x, 2)",
        "v ~ poly(x, degree=2, raw=True)",
        "v ~ bs(x, df=4)",
        "v ~ cr(x, df=3) - 1",
        "v ~ (x + z)**2",
        "v ~ x * g",
        "v ~ x / g",
    ],
)
def test_functions_of_the_list_work_and_predict(formula, data):
    model = TemporalProcessRegression(formula, link="identity").fit(data, id="id", time="t")
    assert np.isfinite(model.predict(data.head(20))).all()


def test_dots_are_part_of_a_name_where_a_column_has_it(data):
    dotted = data.rename(columns={"x": "body.mass"})
    model = TemporalProcessRegression("v ~ body.mass", link="identity").fit(dotted, id="id", time="t")
    plain = TemporalProcessRegression("v ~ x", link="identity").fit(data, id="id", time="t")
    np.testing.assert_array_equal(model.coef_.to_numpy(), plain.coef_.to_numpy())
    with pytest.raises(ValueError, match=r"holds 'body.max', which is no column; allowed are"):
        refuse_code("v ~ body.max", dotted.columns)


def test_variables_of_a_call():
    assert variables_in("center(`a b` + x)", ["a b", "x"]) == {"a b", "x"}
    with pytest.raises(ValueError, match="calls 'log', which is also a column of the data; rename"):
        variables_in("log(x)", ["log", "x"])
    with pytest.raises(ValueError, match=r"argument 'base' of log \(by name it takes none\)"):
        variables_in("log(x, base=2)", ["x"])


def test_a_column_that_is_gone_at_prediction_is_named(data):
    model = TemporalProcessRegression("v ~ center(x)", link="identity").fit(data, id="id", time="t")
    with pytest.raises(ValueError, match="variable of the formula='x' is not a column of data"):
        model.predict(data.drop(columns="x"))


@pytest.mark.parametrize("power", ["z**2", "x + z ^ 2", "`z`**2", "log(g)**2"])
def test_the_power_of_one_column_is_not_that_column(power):
    """In formulas it is, and effects of the column itself were told for those of its square."""
    with pytest.raises(ValueError, match=r"which in a formula is .* itself: write I\("):
        refuse_code(f"v ~ {power}", ["x", "z", "g"])
    refuse_code("v ~ (x + z)**2 + I(log(g)**2)", ["x", "z", "g"])
