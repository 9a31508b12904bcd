"""The bundled set, and a folder of others."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlselect.datasets import load_crime, load_epilepsy, load_local, load_simulated_visits


def test_crime_is_complete():
    crime = load_crime()
    assert crime.data.shape == (1993, 100)
    assert crime.data.dtype == np.float64
    assert np.isfinite(crime.data).all()
    assert crime.target.min() == 0
    assert crime.target.max() == 1
    assert crime.target.mean() == pytest.approx(0.238, abs=5e-4)
    assert crime.frame.column_names == [*crime.feature_names, crime.target_name]
    assert crime.data.min() >= 0
    assert crime.data.max() <= 1
    assert "CC BY 4.0" in crime.DESCR


def test_simulated_visits_are_a_trial_with_irregular_days_and_drop_out():
    trial = load_simulated_visits()
    frame = trial.frame.to_pandas()
    assert frame["patient"].nunique() == 160
    assert not frame.duplicated(["patient", "visit"]).any()
    assert frame.groupby("patient")["arm"].nunique().max() == 1
    assert frame["day"].nunique() > 50
    assert (frame.loc[frame["visit"] == 0, "day"] == 0).all()
    left = frame.groupby("visit").size()
    assert left[7] < 0.75 * left[0]
    assert "no patient is real" in trial.DESCR
    assert Path(trial.path).read_text().splitlines()[0] == ",".join(frame.columns)


def test_epilepsy_is_the_published_trial():
    """Thall and Vail (1990), Table 2: 28 and 31 patients, and the patient with most seizures."""
    frame = load_epilepsy().frame.to_pandas()
    arms = frame.groupby("treatment")["patient"].nunique()
    assert (arms["placebo"], arms["progabide"]) == (28, 31)
    assert (frame.groupby("patient").size() == 4).all()
    assert frame["seizures"].max() == 102
    assert frame["baseline"].max() == 151
    assert "Thall" in load_epilepsy().DESCR


def test_crime_needs_no_data_frame_library():
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None\n"
        "from rlselect.datasets import load_crime\n"
        "from rlselect.data import open_table\n"
        "assert open_table(load_crime().frame, 'target').take().X.shape == (1993, 100)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny.csv").write_text("a,b,target\n1,2.5,yes\n3,4.5,no\n")
    (tmp_path / "words.csv").write_text("a,b,target\n1,u,0.5\n3,v,1.5\n")
    (tmp_path / "bare.csv").write_text("a,b\n1,2\n")
    X, y = np.eye(3, dtype=np.uint8), np.array([0, 1, 1])
    np.savez(tmp_path / "digits.npz", X=X, y=y, feature_names=np.array(["p", "q", "r"]), n_train=2)
    np.savez(tmp_path / "partial.npz", X=X)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and then nothing")
    return tmp_path


def test_local_csv(folder):
    tiny = load_local("tiny", folder)
    np.testing.assert_array_equal(tiny.data, [[1, 2.5], [3, 4.5]])
    assert tiny.target.tolist() == ["yes", "no"]
    assert tiny.n_train is None
    words = load_local("words", folder)
    assert words.data.column_names == words.feature_names == ["a", "b"]


def test_local_npz(folder):
    digits = load_local("digits", folder)
    assert digits.data.dtype == np.uint8
    assert digits.feature_names == ["p", "q", "r"]
    assert digits.n_train == 2
    assert digits.frame is None


def test_folder_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("RLSELECT_DATA", str(folder))
    assert load_local("tiny").data.shape == (2, 2)
    monkeypatch.setenv("RLSELECT_DATA", str(folder / "gone"))
    with pytest.raises(FileNotFoundError, match=r"RLSELECT_DATA='.*gone' is not a folder"):
        load_local("tiny")
    monkeypatch.delenv("RLSELECT_DATA")
    with pytest.raises(
        FileNotFoundError, match=r"pass folder=\.\.\., or set the environment variable RLSELECT_DATA"
    ):
        load_local("tiny")


def test_what_is_not_there_is_said(folder, tmp_path_factory):
    with pytest.raises(FileNotFoundError, match=r"no dataset 'tinny' in .* Did you mean 'tiny'"):
        load_local("tinny", folder)
    with pytest.raises(FileNotFoundError, match="It holds bare, broken, digits, partial, tiny, words"):
        load_local("zzzzzzzz", folder)
    with pytest.raises(FileNotFoundError, match=r"holds no .csv.gz, .csv or .npz file"):
        load_local("tiny", tmp_path_factory.mktemp("nothing"))
    with pytest.raises(ValueError, match="no column 'target'; its last column is 'b'"):
        load_local("bare", folder)
    with pytest.raises(ValueError, match="lacks y, feature_names; it holds X"):
        load_local("partial", folder)
    with pytest.raises(ValueError, match=r"broken.npz' cannot be read as an .npz file"):
        load_local("broken", folder)
