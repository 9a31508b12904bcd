"""The selector of this library, with its defaults."""

NAME = "REVS"
FAMILIES = ("gaussian", "binomial", "poisson")


def available():
    try:
        from rlselect import REVS  # noqa: F401
    except (ImportError, AttributeError):
        return False
    return True


def measure(X, y, family, *, seed):
    from rlselect import REVS

    model = REVS(family=family, random_state=seed).fit(X, y)
    return {"support": model.support_, "rows_read": model.n_rows_read_}
