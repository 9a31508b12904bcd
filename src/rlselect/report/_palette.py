"""The colours of all pictures: told apart also by those who do not see red, green or blue as others do."""

__all__ = ["FAINT", "GREY", "PALETTE", "colour", "line_style"]

# each on white with a contrast of 3 or more; any two far apart for all kinds of colour vision
PALETTE = ("#2f6fb5", "#c07a13", "#6b2a63", "#1b9e9e", "#3a3a3a")
# what is not selected, and what is only there to compare with
GREY, FAINT = "#8a8a8a", "#c9c9c9"
_DASHES = ("-", "--", ":", "-.")


def colour(k: int) -> str:
    """The colour of the k-th thing that is drawn; they begin anew after the last."""
    return PALETTE[k % len(PALETTE)]


def line_style(k: int) -> dict[str, str]:
    """Colour and dashes of the k-th line, so that no two of the first twenty are alike."""
    return {"color": colour(k), "linestyle": _DASHES[k // len(PALETTE) % len(_DASHES)]}
