"""Influence functions that are not held, and rows that are read in stretches: the same answers."""

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.data import _open as door
from rlselect.temporal import _design, _estimate, _formula, _influence


@pytest.fixture
def in_blocks(monkeypatch):
    """Nothing is held, two or three times are worked on at once, a few rows are read at once."""

    def start():
        for module in (_design, _estimate, _influence):
            monkeypatch.setattr(module, "HELD", 1500)
        monkeypatch.setattr(_estimate, "_BLOCK", 2000)
        monkeypatch.setattr(_formula, "_STRETCH", 300)
        monkeypatch.setattr(door, "_SMALL_COLUMNS", 1000)

    return start


def answers(data, link, **options):
    fit = {key: options.pop(key) for key in ("cluster",) if key in options}
    response = {"identity": "v", "logit": "y", "log": "c"}[link]
    model = TemporalProcessRegression(f"{response} ~ x + z + g", link=link, **options)
    model.fit(data, id="id", time="t", **fit)
    smooth = model._fitted.is_smoothed
    profile = {"x": 0.3, "z": -1.0, "g": "b"}
    new = pd.DataFrame([profile | {"t": 1.5}, profile | {"t": 3.0}])
    band = model.bands(n_draws=60, random_state=1, smoothed=smooth)
    return model, [
        model.coef_.to_numpy(),
        model.se_.to_numpy(),
        model.influence_,
        model.test("x").pvalue,
        model.test("g", kind="sds", n_draws=60, random_state=2).pvalue,
        model.test_constant("z", n_draws=60, random_state=2).pvalue,
        band.lower.to_numpy(),
        model.covariance(2, 3, smoothed=smooth).to_numpy(),
        model.predict_interval(new, smoothed=smooth).to_numpy(),
        model.compare_profiles(
            profile, profile | {"g": "a"}, n_draws=60, random_state=3, smoothed=smooth
        ).to_numpy(),
    ]


@pytest.mark.filterwarnings("ignore:1 flagged time")
@pytest.mark.parametrize(
    ("link", "n", "options"),
    [
        ("identity", 200, {}),
        ("logit", 160, {"bandwidth": 2.0}),
        ("log", 80, {}),
        ("identity", 160, {"n_splines": 5}),
        ("identity", 200, {"cluster": "town", "bandwidth": 1.5}),
    ],
)
def test_blocks_answer_as_the_whole(make_data, in_blocks, link, n, options, tmp_path):
    data = make_data(n=n, n_times=8)
    data["town"] = data["id"] % 155
    # one flagged time
    data.loc[data["t"] == 6, "z"] = 1.0
    data["g"] = data["g"].astype("category")
    held, expected = answers(data, link, **options)
    data.to_parquet(tmp_path / "visits.parquet", row_group_size=130)
    in_blocks()
    for given in (data, tmp_path / "visits.parquet"):
        model, found = answers(given, link, **options)
        assert held._fitted.raw.psi is not None
        assert model._fitted.raw.psi is None
        assert list(model.coef_.columns) == list(held.coef_.columns)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_large_files_are_read_some_columns_at_a_time(make_data, in_blocks, tmp_path):
    data = make_data().drop(columns="g")
    whole = TemporalProcessRegression().fit(data, "v", id="id", time="t")
    data.to_csv(tmp_path / "visits.csv", index=False)
    data.to_parquet(tmp_path / "visits.parquet", row_group_size=50)
    in_blocks()
    chunks = [data.iloc[first : first + 90] for first in range(0, len(data), 90)]
    for given in (tmp_path / "visits.csv", tmp_path / "visits.parquet", lambda: iter(chunks)):
        model = TemporalProcessRegression().fit(given, "v", id="id", time="t")
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


def test_functions_of_all_rows_see_all_rows(make_data, in_blocks, tmp_path):
    data = make_data()
    formula = "v ~ scale(x) + poly(z, 2)"
    whole = TemporalProcessRegression(formula).fit(data, id="id", time="t")
    data.to_parquet(tmp_path / "visits.parquet", row_group_size=50)
    in_blocks()
    model = TemporalProcessRegression(formula).fit(tmp_path / "visits.parquet", id="id", time="t")
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


def test_levels_that_come_late_and_rows_that_a_function_loses(make_data, in_blocks):
    data = make_data().sort_values("g", ignore_index=True)
    with np.errstate(invalid="ignore"):
        whole = TemporalProcessRegression("v ~ g + log(z + 1)").fit(data, id="id", time="t")
        in_blocks()
        parts = TemporalProcessRegression("v ~ g + log(z + 1)").fit(data, id="id", time="t")
    assert (whole.n_available_ < data.groupby("t").size()).all()
    np.testing.assert_array_equal(whole.n_available_, parts.n_available_)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)


def test_infinite_values_are_counted_over_all_stretches(make_data, in_blocks):
    data = make_data()
    data.loc[[3, 500], "x"] = np.inf
    in_blocks()
    with pytest.raises(ValueError, match=r"'x' is infinite in 2 row"):
        TemporalProcessRegression("v ~ x").fit(data, id="id", time="t")
