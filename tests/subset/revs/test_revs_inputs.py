"""REVS on whatever users bring: containers, names, categories, scales, sizes, and what is refused."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from rlselect import REVS
from rlselect.simulate import make_revs


def problem(n=150, p=8, seed=0, effects=(1.0, -1.0)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, : len(effects)] @ np.array(effects) + 0.7 * rng.standard_normal(n)


def selected(fitted):
    return np.flatnonzero(fitted.support_).tolist()


# ---- containers ----


@pytest.fixture(scope="module")
def plain():
    X, y = problem()
    X[np.abs(X) < 0.4] = 0.0
    return X, y, REVS(random_state=0).fit(X, y)


CONTAINERS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame({f"v{j}": X[:, j] for j in range(X.shape[1])}),
    "arrow": lambda X: pa.table({f"v{j}": X[:, j] for j in range(X.shape[1])}),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_same_answer(plain, container):
    X, y, expected = plain
    given = container(X)
    fitted = REVS(random_state=0).fit(given, y)
    np.testing.assert_allclose(fitted.inclusion_, expected.inclusion_, atol=1e-8)
    np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-8)
    np.testing.assert_array_equal(fitted.ranking_, expected.ranking_)
    np.testing.assert_allclose(fitted.predict(given), expected.predict(X), atol=1e-8)
    if hasattr(given, "column_names") or hasattr(given, "columns"):
        assert list(fitted.feature_names_in_) == [f"v{j}" for j in range(8)]
        assert fitted.get_feature_names_out().tolist() == [f"v{j}" for j in selected(expected)]
        assert "v0" in str(fitted.summary())
    else:
        assert not hasattr(fitted, "feature_names_in_")


def test_a_second_fit_forgets_the_names_of_the_first(plain):
    X, y, _ = plain
    fitted = REVS(random_state=0).fit(CONTAINERS["pandas"](X), y)
    assert hasattr(fitted, "feature_names_in_")
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("frame", ["pandas", "polars", "arrow"])
def test_the_target_may_be_a_column(plain, frame):
    X, y, expected = plain
    columns = {f"v{j}": X[:, j] for j in range(4)} | {"target": y} | {f"v{j}": X[:, j] for j in range(4, 8)}
    columns |= {"w": np.ones(150), "off": np.zeros(150)}
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[frame]
    table = make(columns)
    fitted = REVS(random_state=0).fit(table, "target", sample_weight="w", offset="off")
    assert list(fitted.feature_names_in_) == [f"v{j}" for j in range(8)]
    np.testing.assert_allclose(fitted.inclusion_, expected.inclusion_, atol=1e-8)
    # new rows may still carry the target, or not
    np.testing.assert_allclose(fitted.predict(table), expected.predict(X), atol=1e-8)
    bare = make({k: v for k, v in columns.items() if k.startswith("v")})
    np.testing.assert_allclose(fitted.predict(bare), expected.predict(X), atol=1e-8)
    assert np.asarray(fitted.transform(table)).shape == (150, len(selected(expected)))


def test_a_misspelt_target_is_suggested(plain):
    X, y, _ = plain
    frame = CONTAINERS["pandas"](X).assign(income=y)
    with pytest.raises(ValueError, match=r"'incone'.*'income'"):
        REVS().fit(frame, "incone")
    with pytest.raises(TypeError, match="X has no column names"):
        REVS().fit(X, "income")


def test_set_output_gives_frames(plain):
    X, y, expected = plain
    frame = CONTAINERS["pandas"](X)
    fitted = REVS(random_state=0).set_output(transform="pandas").fit(frame, y)
    assert fitted.transform(frame).columns.tolist() == [f"v{j}" for j in selected(expected)]


# ---- categories ----


def city_frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, size=n),
            "city": rng.choice(["Oslo", "Paris", "Rome"], size=n),
            "colour": pd.Categorical(rng.choice(["blue", "green", "red"], size=n)),
            "noise": rng.standard_normal(n),
        }
    )
    frame["y"] = 0.05 * frame["age"] + 2.0 * (frame["city"] == "Paris") + 0.5 * rng.standard_normal(n)
    return frame


def test_categories_enter_as_a_group_and_names_come_out():
    frame = city_frame()
    fitted = REVS(random_state=0).fit(frame, "y")
    assert fitted.get_feature_names_out().tolist() == ["age", "city"]
    assert fitted.column_names_ == [
        "age",
        "city=Paris",
        "city=Rome",
        "colour=green",
        "colour=red",
        "noise",
    ]
    assert fitted.support_.shape == fitted.inclusion_.shape == (4,)
    coef = dict(zip(fitted.column_names_, fitted.coef_, strict=True))
    assert coef["city=Paris"] == pytest.approx(2.0, abs=0.3)
    assert coef["city=Rome"] != 0.0
    assert coef["colour=red"] == coef["colour=green"] == 0.0
    text = str(fitted.summary())
    assert "\u00a0\u00a0Paris" in text
    assert "colour" not in text
    variables = {v["name"]: v for v in fitted.summary().dict["variables"]}
    assert set(variables["city"]["coef"]) == {"city=Paris", "city=Rome"}


def test_indicators_equal_columns_made_by_hand():
    frame = city_frame()
    fitted = REVS(random_state=0).fit(frame, "y")
    by_hand = pd.get_dummies(frame.drop(columns="y"), drop_first=True, dtype=float)
    names = ["age", "noise", "city_Paris", "city_Rome", "colour_green", "colour_red"]
    assert by_hand.columns.tolist() == names
    grouped = REVS(feature_groups=[[2, 3], [4, 5]], random_state=0).fit(by_hand.to_numpy(), frame["y"])
    np.testing.assert_allclose(grouped.inclusion_[[0, 2, 4, 1]], fitted.inclusion_, atol=1e-8)


def test_text_in_other_frames_gives_the_same_answer():
    frame = city_frame()
    expected = REVS(random_state=0).fit(frame, "y")
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        fitted = REVS(random_state=0).fit(other, "y")
        assert fitted.column_names_ == expected.column_names_
        np.testing.assert_allclose(fitted.inclusion_, expected.inclusion_, atol=1e-8)


def test_a_logistic_fit_of_categories():
    frame = city_frame(400)
    frame["y"] = np.where(frame["city"] == "Paris", "yes", "no")
    flip = np.random.default_rng(1).random(400) < 0.15
    frame.loc[flip, "y"] = np.where(frame.loc[flip, "y"] == "yes", "no", "yes")
    fitted = REVS(random_state=0).fit(frame, "y")
    assert fitted.get_feature_names_out().tolist() == ["city"]
    assert fitted.score(frame, frame["y"]) > 0.8


# ---- scales ----


@pytest.mark.parametrize("p", [8, 25])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_scales_and_means_do_not_matter(family, container, p):
    X, y = problem(p=p)
    y = y if family == "gaussian" else (y > 0).astype(int) ^ (np.random.default_rng(0).random(150) < 0.1)
    scales, means = np.ones(p), np.zeros(p)
    scales[:6] = [1e12, 1e-12, 1e5, 1e-8, 1.0, 1.0]
    means[:8] = [0.0, 0.0, 1e9, 0.0, 1e8, -1e8, 1e3, -1e6]
    plain = REVS(random_state=0).fit(X, y)
    fitted = REVS(random_state=0).fit(container(X * scales + means), y)
    assert selected(fitted) == selected(plain) == [0, 1]
    np.testing.assert_allclose(fitted.inclusion_, plain.inclusion_, atol=1e-3)
    np.testing.assert_allclose(fitted.coef_ * scales, plain.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(fitted.gain_, plain.gain_, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "shift"), [(1e12, 0.0), (1e-12, 0.0), (1.0, 1e8), (1e6, 1e12), (1e-100, 0.0)]
)
def test_the_scale_of_the_response_does_not_matter(size, shift):
    X, y = problem()
    plain = REVS(random_state=0).fit(X, y)
    fitted = REVS(random_state=0).fit(X, size * y + shift)
    np.testing.assert_allclose(fitted.inclusion_, plain.inclusion_, atol=1e-6)
    np.testing.assert_allclose(fitted.coef_, size * plain.coef_, rtol=1e-6)


def test_whole_numbers_and_truth_values_are_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(150, 6))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(150)
    assert selected(REVS(random_state=0).fit(X, y)) == [0, 1]
    truth = X > 2
    y = 2.0 * truth[:, 0] - 2.0 * truth[:, 1] + rng.standard_normal(150)
    assert selected(REVS(random_state=0).fit(truth, y)) == [0, 1]


# ---- sizes ----


def test_twenty_thousand_sparse_columns_are_never_spread_out(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((1500, 20_000), density=0.002, format="csr", rng=rng)
    y = np.asarray(X[:, :3].sum(axis=1)).ravel() * 8.0 + 0.2 * rng.standard_normal(1500)
    largest = []
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        whole = kind.toarray

        def watched(self, *args, _whole=whole, **options):
            largest.append(self.shape[0] * self.shape[1])
            return _whole(self, *args, **options)

        monkeypatch.setattr(kind, "toarray", watched)
    tracemalloc.start()
    fitted = REVS(random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert selected(fitted) == [0, 1, 2]
    # the whole of it would be 30 million numbers, 240 MB; a p x p matrix 3.2 GB
    assert max(largest) < 3_000_000
    assert peak < 120e6
    assert fitted.predict(X).shape == (1500,)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_twenty_thousand_dense_columns(family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20_000))
    y = 3.0 * X[:, 7] - 3.0 * X[:, 15_000] + 0.5 * rng.standard_normal(150)
    if family == "binomial":
        y = (y > 0).astype(int) ^ (rng.random(150) < 0.05)
    fitted = REVS(random_state=0).fit(X, y)
    assert {7, 15_000} <= set(selected(fitted))
    assert fitted.support_.sum() <= (2 if family == "gaussian" else 6)
    np.testing.assert_array_equal(np.sort(fitted.ranking_), np.arange(1, 20_001))
    # the record speaks of the columns of the user, not of those that were kept, and from the first step on
    path = fitted.path_
    entered = path["action"][path["action"] > 0] - 1
    assert {7, 15_000} <= set(entered)
    assert path["size"][0] == 1
    assert len(path["size"]) == fitted.n_stages_
    assert fitted.inclusion_.shape == (20_000,)


def test_many_groups_among_many_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6000))
    y = X[:, 0] + X[:, 1] - X[:, 4] + 0.3 * rng.standard_normal(120)
    tracemalloc.start()
    fitted = REVS(feature_groups=np.arange(6000) // 2, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert selected(fitted) == [0, 1, 4, 5]
    # 6,000 x 6,000 numbers would be 288 MB
    assert peak < 150e6


# ---- what is refused ----


def test_gaps_and_infinities_are_refused():
    X, y = problem(n=40)
    gap, infinite = X.copy(), X.copy()
    gap[3, 2], infinite[3, 2] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"x2.*missing|missing.*x2"):
        REVS().fit(gap, y)
    with pytest.raises(ValueError, match="infinity"):
        REVS().fit(infinite, y)
    for bad in (np.nan, np.inf):
        target = y.copy()
        target[5] = bad
        with pytest.raises(ValueError, match="y contains"):
            REVS().fit(X, target)
    with pytest.raises(ValueError, match="missing"):
        REVS(random_state=0).fit(X, y).predict(gap)


@pytest.mark.parametrize(("weight", "noted"), [(1000.0, True), (40.0, False)])
def test_a_row_that_speaks_for_many_is_noted(weight, noted):
    X, y = problem()
    heavy = np.where(np.arange(150) == 3, weight, 1.0)
    notes = REVS(random_state=0).fit(X, y, sample_weight=heavy).summary().dict["notes"]
    said = [
        note for note in notes if note.startswith("Weights are counts: row 3 counts as 1,000 of 1,149 rows")
    ]
    assert len(said) == noted


def test_gaps_in_weights_and_offsets_are_refused():
    X, y = problem(n=40)
    bad = np.ones(40)
    bad[0] = np.nan
    with pytest.raises(ValueError, match="sample_weight"):
        REVS().fit(X, y, sample_weight=bad)
    with pytest.raises(ValueError, match="offset"):
        REVS().fit(X, y, offset=bad)
    with pytest.raises(ValueError, match="sample_weight is negative in 40"):
        REVS().fit(X, y, sample_weight=-np.ones(40))


def test_text_where_numbers_are_needed():
    X, y = problem(n=40)
    with pytest.raises(TypeError, match="y holds text"):
        REVS(family="gaussian").fit(X, ["low", "high"] * 20)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    fitted = REVS(random_state=0).fit(frame, y)
    with pytest.raises(TypeError, match=r"'a'.*text"):
        fitted.predict(frame.assign(a="x"))


def test_rows_and_columns_that_do_not_fit():
    X, y = problem(n=40)
    with pytest.raises(ValueError, match="minimum of 3"):
        REVS().fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="y"):
        REVS().fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        REVS().fit(X)
    with pytest.raises(ValueError, match="X has 7 features, but REVS is expecting 8"):
        REVS(random_state=0).fit(X, y).predict(X[:, :7])


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "missing values"), (np.inf, "infinity"), (1e30, "1e\\+30")]
)
@pytest.mark.parametrize("row", [3, 9000])
def test_a_bad_value_among_many_rows_in_memory_is_named(value, words, row):
    """Only sums of squares look at every value; what they cannot say is looked up."""
    data = make_revs(12_000, 50, dtype=np.float32, random_state=0)
    data.X[row, 4] = value
    with pytest.raises(ValueError, match=rf"{words}.*'x4'|'x4'.*{words}"):
        REVS(random_state=0).fit(data.X, data.y)


@pytest.mark.parametrize(("levels", "doubted"), [(3, True), (10, True), (11, False)])
def test_few_whole_numbers_are_doubted(levels, doubted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = rng.permutation(np.arange(120) % levels)
    told = str(REVS(random_state=0).fit(X, y).summary())
    assert ('family="multinomial"' in told) is doubted
    assert "whole numbers" not in str(REVS(family="gaussian", random_state=0).fit(X, y).summary())


def test_an_empty_selection_says_that_lines_were_looked_for():
    X = np.random.default_rng(0).standard_normal((200, 4))
    y = X[:, 0] * X[:, 1]
    notes = REVS(random_state=0).fit(X, y).summary().dict["notes"]
    assert any("Only straight lines were looked for" in note for note in notes)
    assert not any("looked for" in n for n in REVS(random_state=0, order=2).fit(X, y).summary().dict["notes"])
    # those who find curves know no times and no counts
    counts = REVS(random_state=0, family="poisson").fit(X, np.arange(200) % 3).summary().dict["notes"]
    assert any("squares of columns, beside them, curves" in note for note in counts)
    assert not any("ActorCriticPredictor" in note for note in counts)
    constant = REVS(random_state=0).fit(X, np.ones(200)).summary().dict["notes"]
    assert not any("looked for" in note for note in constant)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_column_that_varies_in_one_row_is_told_of(wrap):
    """An indicator of one row, which was far out by chance, was near certain."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 4)), rng.standard_normal(120)
    X[:, 2] = np.arange(120) == 7
    y += X[:, 0] + 30.0 * X[:, 2]
    notes = REVS(random_state=0).fit(wrap(X), y).summary().dict["notes"]
    assert any(note.startswith("x2 (1) varies in one row above all") for note in notes)
    both = REVS(random_state=0).fit(X, np.column_stack([y, -y]), sample_weight=np.ones(120))
    assert sum("in one row above all" in note for note in both.summary().dict["notes"]) == 1
    X[:, 2] = np.arange(120) % 40 == 7
    notes = REVS(random_state=0).fit(wrap(X), X[:, 0] + 5 * X[:, 2]).summary().dict["notes"]
    assert not any("in one row above all" in note for note in notes)


def test_numbers_that_were_read_as_text_are_no_classes():
    X, y = problem(40)
    with pytest.raises(ValueError, match=r"40 classes in 40 rows.* Make numbers of it: y holds text such as"):
        REVS().fit(X, y.astype(str))
    with pytest.raises(ValueError, match=r"two rows for each\.$"):
        REVS().fit(X, [f"row {i}" for i in range(40)])


def test_a_target_among_the_columns_is_told_of():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((80, 3)), columns=["area", "age", "price"])
    told = REVS(random_state=0).fit(frame, frame["price"]).summary().dict
    assert any(note.startswith("price tells the target without error") for note in told["notes"])
    # "price matters for price" says nothing; nor is a series made of a column the column
    assert "matters for the target: price" in told["answer"]
    made = 2.0 * frame["area"] + np.random.default_rng(1).standard_normal(80)
    assert made.name == "area"
    told = REVS(random_state=0).fit(frame, made).summary().dict
    assert "matters for the target: area" in told["answer"]
    assert not any("without error" in note for note in told["notes"])


def test_losses_are_told_with_the_digits_that_differ():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((500, 6))
    notes = REVS(random_state=0).fit(X, 4.0 * X[:, 0] + rng.standard_normal(500)).summary().dict["notes"]
    losses = re.search(r"squared error (\S+) against (\S+) ", " ".join(notes))
    assert losses is not None
    assert losses[1] != losses[2]


def test_a_target_that_does_not_vary_is_told_of():
    """Its predictions were said to be a ridge regression, since a constant was no better."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    notes = REVS(random_state=0).fit(X, np.full(40, 3.0)).summary().dict["notes"]
    assert "The target is 3 in all rows: there is nothing to explain." in notes
    assert not any(note.startswith("Predictions") for note in notes)
    varied = REVS(random_state=0).fit(X, X[:, 0]).summary().dict["notes"]
    assert not any("nothing to explain" in note for note in varied)
