"""The look at the data, on its own and before a selection."""

from typing import Any

from rlselect.cli._errors import Problems
from rlselect.preflight import Finding, look_over, tell

__all__ = ["refuse_problems"]


def refuse_problems(
    frame: Any, target: str, *, missing: str = "error", method: str = "REVS"
) -> list[dict[str, str]]:
    """Refuse what cannot be fitted, all of it in one list, each with the flag that helps.

    Parameters
    ----------
    frame : table
        What would be fitted.
    target : str
        Column to explain.
    missing : str
        What is done about missing values.
    method : str
        The class that is to be fitted.

    Returns
    -------
    list of dict
        What else was seen, which is not in the way, for the page.
    """
    taken = {"error": (), "drop": ("missing values", "missing target"), "indicator": ("missing values",)}
    known = taken[missing]
    seen = look_over(frame, target, method)
    # dates as text would be left out or be categories, and other dates are refused by a fit, too;
    # where rows with gaps are dropped, gaps that tell the target leave a part of it
    also = ["dates", *(["telling gaps"] if missing == "drop" else [])]
    found = [one for one in seen if one.what not in known and (one.weight == "problem" or one.what in also)]
    if not found:
        return [_told(one, one.what in known) for one in seen]
    if len(found) == 1:
        mend = found[0].command
        told = f" Use {mend}." if mend.startswith("--") else f" To mend it, {mend}." if mend else ""
        raise ValueError(found[0].text + told)
    lines = "\n".join(tell(finding, "command") for finding in found)
    raise Problems(f"{len(found)} things are in the way:\n{lines}")


def _told(finding: Finding, mended: bool) -> dict[str, str]:
    """A finding for a page; of what is mended already no mend is told."""
    weight, mend = ("note", "") if mended else (finding.weight, finding.command)
    return {"weight": weight, "text": finding.text, "mend": mend}
