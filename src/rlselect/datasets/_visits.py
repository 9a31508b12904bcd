"""A simulated trial with repeated measures, which comes with the package."""

from importlib.resources import as_file, files

from sklearn.utils import Bunch

from rlselect.data import read_file


def load_simulated_visits() -> Bunch:
    """Load a simulated trial of 160 patients with up to eight visits each, at irregular days.

    No patient is real. Half of them get an active drug, whose effect on a score of symptoms (small is good)
    grows to six points on day 84 and stays; the worse patients are, the sooner they leave.

    Returns
    -------
    Bunch
        ``frame`` (pyarrow table, one row per visit: ``patient``, ``arm``, ``age``, ``visit`` as planned,
        ``day``, ``score``), ``path`` (of the CSV file), ``DESCR``.

    Examples
    --------
    >>> from rlselect.datasets import load_simulated_visits
    >>> load_simulated_visits().frame.column_names
    ['patient', 'arm', 'age', 'visit', 'day', 'score']
    """
    folder = files("rlselect.datasets") / "files"
    with as_file(folder / "simulated_visits.csv") as path:
        frame = read_file(path)
    return Bunch(frame=frame, path=str(path), DESCR=(folder / "README.md").read_text(encoding="utf-8"))
