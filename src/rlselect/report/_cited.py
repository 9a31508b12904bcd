"""The works that a method comes from, as its own documentation names them."""

import inspect
import re

__all__ = ["cited_works"]


def cited_works(method: object) -> list[str]:
    """The references in the documentation of a class or a function, one text each.

    Parameters
    ----------
    method : class or function
        With a numpydoc section "References"; none are found if there is no such section, or if Python runs
        without documentation.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from rlselect import REVS
    >>> from rlselect.report import cited_works
    >>> cited_works(REVS)[1]
    'Zanella (2020), Informed proposals for local MCMC in discrete spaces, JASA 115.'
    """
    text = inspect.getdoc(method) or ""
    found = re.search(r"^References\n-+\n(.*?)(?=\n\n\S|\Z)", text, re.DOTALL | re.MULTILINE)
    works = re.split(r"^\.\. \[\d+\] ", found.group(1), flags=re.MULTILINE) if found else []
    return [" ".join(work.split()) for work in works if work.strip()]
