"""A simulated and a real trial with repeated measures, which come with the package."""

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
    return _bundled("simulated_visits.csv")


def load_epilepsy() -> Bunch:
    """Load a trial of 59 epileptics, whose seizures were counted in four periods of two weeks [1]_.

    31 patients got progabide, 28 a placebo.

    Returns
    -------
    Bunch
        ``frame`` (pyarrow table, one row per patient and period: ``patient``, ``treatment``, ``baseline``
        seizures of the eight weeks before, ``age``, ``period``, ``seizures``), ``path`` (of the CSV file),
        ``DESCR``.

    References
    ----------
    .. [1] Thall and Vail (1990), Some covariance models for longitudinal count data with overdispersion.
       Biometrics 46, 657-671.

    Examples
    --------
    >>> from rlselect.datasets import load_epilepsy
    >>> load_epilepsy().frame.shape
    (236, 6)
    """
    return _bundled("epilepsy.csv")


def _bundled(name: str) -> Bunch:
    folder = files("rlselect.datasets") / "files"
    with as_file(folder / name) as path:
        frame = read_file(path)
    return Bunch(frame=frame, path=str(path), DESCR=(folder / "README.md").read_text(encoding="utf-8"))
