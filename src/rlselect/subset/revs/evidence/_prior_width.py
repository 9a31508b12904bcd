"""How large the prior variance of linear effects may be, in units of the noise."""

# the largest that is compared, until effects speak for larger ones
WIDE = 4.0
# how much it grows at a time then, and where rounding ends all
_FACTOR, _WIDEST = 4.0, 1e6
# rows per column from which on a subset speaks for larger ones: what fits few rows perfectly speaks for any
_ROWS_PER_COLUMN = 4.0


def widened(widest: float, n_columns: int, n_rows: float) -> float:
    """The largest prior variance to compare where a subset speaks for the `widest` so far, or that one again.

    What a narrow prior takes off large effects counts as noise, which hides small ones.

    Parameters
    ----------
    widest : float
        The largest compared so far.
    n_columns : int
        Of the subset.
    n_rows : float
        Sum of the weights.
    """
    if widest >= _WIDEST or n_rows < _ROWS_PER_COLUMN * n_columns:
        return widest
    return _FACTOR * widest
