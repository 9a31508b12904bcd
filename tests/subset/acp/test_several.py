"""Several responses of ActorCriticPredictor."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from rlselect import ActorCriticPredictor, load, save


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 7))
    Y = np.column_stack([X[:, 0] - X[:, 1], 100.0 * X[:, 1] + 1000.0])
    return X, Y + rng.standard_normal((120, 2)) * [0.5, 50.0]


def test_one_subset_serves_all_whatever_their_units(rows, tmp_path):
    X, Y = rows
    fitted = ActorCriticPredictor(predictor="linear", random_state=0).fit(X, Y)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1]
    A = np.column_stack([np.ones(120), X[:, :2]])
    expected = A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=1e-6, atol=1e-6)
    share = 1.0 - np.square(Y - expected).sum(axis=0) / np.square(Y - Y.mean(axis=0)).sum(axis=0)
    assert fitted.score(X, Y) == pytest.approx(share.mean(), abs=1e-6)
    save(fitted, tmp_path / "fit.rls")
    np.testing.assert_array_equal(load(tmp_path / "fit.rls").predict(X), fitted.predict(X))
    assert "Responses: y0, y1" in str(fitted.summary())
    scaled = ActorCriticPredictor(predictor="linear", random_state=0).fit(X, 1e-3 * Y)
    np.testing.assert_allclose(scaled.inclusion_, fitted.inclusion_, atol=1e-6)


def test_names_of_columns_and_gaps(rows):
    X, Y = rows
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(u=Y[:, 0], v=Y[:, 1])
    frame.loc[3, "v"] = np.nan
    with pytest.raises(ValueError, match="y column 'v' has missing values"):
        ActorCriticPredictor(predictor="linear").fit(frame, ["u", "v"])
    fitted = ActorCriticPredictor(predictor="linear", missing="drop", random_state=0).fit(frame, ["u", "v"])
    assert fitted.response_names_ == ["u", "v"]
    assert fitted.get_feature_names_out().tolist() == ["a", "b"]
    assert fitted.predict(frame).shape == (120, 2)


def test_a_constant_response_is_no_trouble(rows):
    X, Y = rows
    fitted = ActorCriticPredictor(predictor="linear", random_state=0).fit(
        X, np.column_stack([Y, np.ones(120)])
    )
    np.testing.assert_allclose(fitted.predict(X)[:, 2], 1.0)
    nothing = ActorCriticPredictor(random_state=0).fit(X, np.ones((120, 2)))
    assert not nothing.support_.any()
    np.testing.assert_allclose(nothing.predict(X), 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "classification"}, "use REVS for classes"),
        ({"predictor": Ridge()}, "with several responses; use 'auto'"),
        ({"predictor": "logistic"}, "with several responses; use 'auto'"),
    ],
)
def test_what_makes_no_sense_is_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        ActorCriticPredictor(**options).fit(*rows)


def test_text_is_refused_with_the_name_of_who_takes_it(rows):
    X, Y = rows
    frame = pd.DataFrame({"a": Y[:, 0], "b": np.where(Y[:, 1] > 0, "x", "y")})
    with pytest.raises(ValueError, match=r"Response 'b' holds 'x': .* REVS takes classes"):
        ActorCriticPredictor().fit(X, frame)
