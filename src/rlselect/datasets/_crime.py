"""The small real dataset that comes with the package."""

from importlib.resources import as_file, files

from sklearn.utils import Bunch

from rlselect.data import read_file
from rlselect.datasets._bunch import make_bunch


def load_crime() -> Bunch:
    """Load Communities and Crime: 1993 US communities, 100 features, the rate of violent crimes.

    The features describe population, income, families, housing and police in the early nineties, each scaled
    to [0, 1]; many are near copies of each other, which makes it a fair exercise for selection.

    Returns
    -------
    Bunch
        ``frame`` (pyarrow table, features and ``target``), ``data`` (ndarray of shape (1993, 100)),
        ``target`` (ndarray), ``feature_names``, ``target_name``, ``DESCR``.

    References
    ----------
    .. [1] M. Redmond (2002). Communities and Crime. UCI Machine Learning Repository,
       https://doi.org/10.24432/C53W3X. Licensed under CC BY 4.0.

    Examples
    --------
    >>> from rlselect.datasets import load_crime
    >>> crime = load_crime()
    >>> crime.data.shape, crime.feature_names[:3]
    ((1993, 100), ['population', 'householdsize', 'racepctblack'])
    """
    folder = files("rlselect.datasets") / "files"
    with as_file(folder / "communities_crime.csv.gz") as path:
        frame = read_file(path)
    return make_bunch(frame, DESCR=(folder / "README.md").read_text(encoding="utf-8"))
