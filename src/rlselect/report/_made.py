"""What it takes to make a report again."""

import platform
import sys
from importlib.metadata import version

import numpy as np

__all__ = ["how_made"]


def how_made(code: str, **facts: str) -> dict[str, str]:
    """The code, further facts and the versions, as ``made`` of `to_html`.

    Parameters
    ----------
    code : str
        Lines of Python.
    **facts : str
        Such as the seed.

    Returns
    -------
    dict
    """
    library = f"rlselect {sys.modules['rlselect'].__version__}"
    versions = f"{library}, Python {platform.python_version()}, NumPy {np.__version__}"
    return {"code": code, **facts, "Versions": f"{versions}, scikit-learn {version('scikit-learn')}"}
