"""Saved estimators answer as before; what cannot be saved says so; files are written whole or not at all."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.pipeline import make_pipeline

import rlselect
from rlselect import REVS, ActorCriticPredictor, DivideAndConquer, QLearning, RiskRFE
from rlselect.persist import Unsavable, content_digest
from rlselect.persist import _files as files


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    return X, 2.0 * X[:, 0] - 2.0 * X[:, 2] + 0.3 * rng.standard_normal(120)


def again(estimator, tmp_path):
    return rlselect.load(rlselect.save(estimator, tmp_path / "file.rls"))


def test_what_is_saved_twice_is_the_same_file(data, tmp_path):
    fitted = REVS(random_state=0).fit(*data)
    first = rlselect.save(fitted, tmp_path / "a").read_bytes()
    loaded = rlselect.load(tmp_path / "a")
    assert rlselect.save(loaded, str(tmp_path / "b")).read_bytes() == first
    assert b"0.1.0" in first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_a_frame_with_text_and_gaps(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "Größe", "x\u202e\x1b"])
    frame["text"] = np.where(X[:, 1] > 0, "u", "w")
    frame.loc[3, "a"] = np.nan
    fitted = REVS(missing="indicator", random_state=0).fit(frame, y)
    loaded = again(fitted, tmp_path)
    assert np.array_equal(loaded.predict(frame), fitted.predict(frame))
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="now missing:\n- text"):
        loaded.predict(frame.drop(columns="text"))


@pytest.mark.parametrize(
    "predictor", ["linear", "logistic", "kernel", pytest.param("network", marks=pytest.mark.slow)]
)
def test_classes_of_every_predictor(data, predictor, tmp_path):
    X, y = data
    labels = np.where(y > 1, "up", np.where(y < -1, "down", "flat"))
    fitted = ActorCriticPredictor(predictor=predictor, random_state=0).fit(X, labels)
    loaded = again(fitted, tmp_path)
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()


@pytest.mark.parametrize("seed", [np.random.default_rng(3), np.random.RandomState(3), np.int64(3)])
def test_seeds_go_on_where_they_were(seed, tmp_path):
    loaded = again(REVS(random_state=seed), tmp_path).random_state
    assert type(loaded) is type(seed)
    if isinstance(seed, np.random.Generator):
        ours, theirs = ([r.random(), *(c.random() for c in r.spawn(2))] for r in (loaded, seed))
        assert ours == theirs
    elif isinstance(seed, np.random.RandomState):
        assert loaded.normal(size=3).tolist() == seed.normal(size=3).tolist()
    else:
        assert loaded == seed


def test_vote_of_an_estimator_of_ours(data, tmp_path):
    fitted = DivideAndConquer(REVS(), n_folds=3, random_state=0).fit(*data)
    loaded = again(fitted, tmp_path)
    assert np.array_equal(loaded.inclusion_, fitted.inclusion_)
    assert isinstance(loaded.estimator, REVS)


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (
            DivideAndConquer(LassoCV()),
            r"DivideAndConquer\.estimator holds an object of sklearn\.linear_model",
        ),
        (ActorCriticPredictor(predictor=LinearRegression()), r"ActorCriticPredictor\.predictor holds"),
        (QLearning(model=LinearRegression()), r"QLearning\.model holds"),
        (RiskRFE(kernel=lambda A, B: A @ B.T), r"RiskRFE\.kernel holds the function"),
        (RiskRFE(kernel=np.dot), r"RiskRFE\.kernel holds"),
        (REVS(policy=object()), r"REVS\.policy holds an object of builtins\.object"),
        (REVS(penalty=1j), r"REVS\.penalty holds an object of builtins\.complex"),
        (REVS(feature_groups=np.zeros(2, dtype=complex)), r"an array of type complex128"),
    ],
)
def test_what_is_not_ours_is_refused_by_name(estimator, what, tmp_path):
    with pytest.raises(TypeError, match=what + r".*skops.*joblib"):
        rlselect.save(estimator, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_others_and_circles_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"Pipeline was given; .* takes estimators of this library"):
        rlselect.save(make_pipeline(REVS()), tmp_path / "file")
    with pytest.raises(TypeError, match=r"(type|ABCMeta) was given"):
        rlselect.save(REVS, tmp_path / "file")
    circle = []
    circle.append(circle)
    with pytest.raises(TypeError, match="holds itself"):
        rlselect.save(REVS(feature_groups=circle), tmp_path / "file")
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Unsavable, match="nested too deeply"):
        content_digest(deep, "it")


def test_another_version_is_loaded_with_a_warning(data, tmp_path, monkeypatch):
    fitted = REVS(random_state=0).fit(*data)
    monkeypatch.setattr(files, "library_version", lambda: "9.9")
    rlselect.save(fitted, tmp_path / "file")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"saved by rlselect '9\.9', this is .*fit again and save anew"):
        loaded = rlselect.load(tmp_path / "file")
    assert np.array_equal(loaded.coef_, fitted.coef_)


def test_a_save_that_fails_leaves_the_file_that_was_there(data, tmp_path, monkeypatch):
    fitted = REVS(random_state=0).fit(*data)
    before = rlselect.save(fitted, tmp_path / "file").read_bytes()

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        rlselect.save(REVS(penalty=2.0), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_no_file_takes_the_place_of_a_pipe_a_folder_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match=f"{name}' cannot be written: it is a folder, a pipe or a device"):
            rlselect.save(REVS(), tmp_path / name)
    with pytest.raises(OSError, match=r"missing.file' cannot be written: No such file .*nothing was"):
        rlselect.save(REVS(), tmp_path / "missing" / "file")
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    rlselect.save(REVS(), tmp_path / "link")
    assert (tmp_path / "target").read_text() == "mine"
    assert isinstance(rlselect.load(tmp_path / "link"), REVS)
