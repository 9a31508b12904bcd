"""Fits to several imputations of one study, combined by Rubin's rules; and wide tables made long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t
from sklearn.utils.validation import check_is_fitted

from rlselect._options import check_value, number
from rlselect.data import Columns
from rlselect.temporal._bands import Band
from rlselect.temporal._model import TemporalProcessRegression
from rlselect.temporal._points import quantile

__all__ = ["PooledCurves", "pool_imputations", "wide_to_long"]

Array = NDArray[np.float64]

_MANY = 1e9


@dataclass(frozen=True)
class PooledCurves:
    """Curves of several imputations as one.

    Attributes
    ----------
    coef, se : data frames, times x covariates
        Means over imputations, and standard errors: ``se_`` within plus the spread between imputations.
    df : data frame
        Degrees of freedom of Barnard and Rubin.
    models : the fits

    Notes
    -----
    `conf_int` has standard errors and degrees of freedom that are corrected for few subjects within
    imputations, as that of a single fit has.
    """

    coef: Any
    se: Any
    df: Any
    models: list[TemporalProcessRegression] = field(repr=False)

    def conf_int(self, level: float = 0.95) -> Band:
        """Pointwise confidence intervals, by Student's t.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval covers.

        Returns
        -------
        Band
            Its `critical` holds the largest multiple of each covariate, as they differ between times.
        """
        check_value("level", level, number("a number between 0 and 1", above=0.0, below=1.0))
        each = [model.conf_int(level) for model in self.models]
        middles, errors, complete = (
            np.array([np.asarray(part) for part in parts])
            for parts in zip(*(((b.lower + b.upper) / 2.0, b.se, b.df) for b in each), strict=True)
        )
        mean, variance, df = _rubin(middles, errors, complete.mean(axis=0))
        se = np.sqrt(variance)
        critical = np.where(np.isfinite(se), quantile(level, df), np.nan)
        lower, upper, se, df = (
            _like(self.coef, values) for values in (mean - critical * se, mean + critical * se, se, df)
        )
        largest = dict(zip(self.coef.columns, np.nanmax(critical, axis=0).tolist(), strict=True))
        return Band(self.coef, lower, upper, level, largest, "pooled", se, df)

    def test(self, covariate: str, **options: Any) -> tuple[float, float, float]:
        """Test that the time average of an effect is zero.

        Parameters
        ----------
        covariate : str
            One covariate.
        **options
            `value`, `time_weight`, `interval` and `integral`, as in `TemporalProcessRegression.test`.

        Returns
        -------
        statistic, df, pvalue : floats
            Of Student's t.
        """
        found = [model.test(covariate, kind="ids", **options) for model in self.models]
        if len(found[0].estimate) != 1:
            raise ValueError(f"{covariate!r} has {len(found[0].estimate)} columns; test one of them.")
        estimates, errors = (np.array([getattr(r, name)[0] for r in found]) for name in ("estimate", "se"))
        mean, variance, df = _rubin(estimates[:, None], errors[:, None], _complete_df(self.models[0]))
        statistic = float(mean[0] / np.sqrt(variance[0]))
        return statistic, float(df[0]), float(2.0 * t.sf(abs(statistic), df[0]))


def pool_imputations(models: Sequence[TemporalProcessRegression]) -> PooledCurves:
    """Combine fits to several imputations of the same study by Rubin's rules.

    Parameters
    ----------
    models : sequence of TemporalProcessRegression
        Two or more, fitted with the same covariates and times.

    Returns
    -------
    PooledCurves

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.temporal import TemporalProcessRegression, pool_imputations
    >>> rng = np.random.default_rng(0)
    >>> ids, times = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    >>> x, noise = rng.standard_normal((240, 1)), rng.standard_normal(240)
    >>> fits = []
    >>> for _ in range(5):
    ...     guess = np.where(ids < 10, x[:, 0] + rng.standard_normal(240), x[:, 0] + noise)
    ...     fits.append(TemporalProcessRegression().fit(x, guess, id=ids, time=times))
    >>> pooled = pool_imputations(fits)
    >>> bool((pooled.se["x0"] > 0.1).all())
    True
    """
    models = list(models)
    if len(models) < 2:
        raise ValueError(f"{len(models)} model(s) were given; Rubin's rules need two or more imputations.")
    for model in models:
        check_is_fitted(model)
        same = list(model.coef_.columns) == list(models[0].coef_.columns)
        if not (same and np.array_equal(model.times_, models[0].times_)):
            raise ValueError("all models must have the same covariates and times.")
    curves, errors = (np.array([getattr(m, name).to_numpy() for m in models]) for name in ("coef_", "se_"))
    mean, variance, df = _rubin(curves, errors, _complete_df(models[0]))
    coef, se, freedom = (_like(models[0].coef_, values) for values in (mean, np.sqrt(variance), df))
    return PooledCurves(coef, se, freedom, models)


def _like(frame: Any, values: Array) -> Any:
    """A data frame of other values."""
    return type(frame)(values, index=frame.index, columns=frame.columns)


def _complete_df(model: TemporalProcessRegression) -> float:
    return max(model.n_independent_ - model.coef_.shape[1], 1)


def _rubin(estimates: Array, errors: Array, complete: float | Array) -> tuple[Array, Array, Array]:
    """Mean, variance and degrees of freedom over the first axis; `complete`: those of complete data."""
    m = len(estimates)
    between = estimates.var(axis=0, ddof=1) * (1.0 + 1.0 / m)
    within = (errors**2).mean(axis=0)
    total = within + between
    share = np.where(total > 0, between / np.where(total > 0, total, 1.0), 0.0)
    # far more than any are as good as infinitely many, and can be multiplied
    complete = np.minimum(complete, _MANY)
    observed = (complete + 1.0) / (complete + 3.0) * complete * (1.0 - share)
    df = 1.0 / (share**2 / (m - 1.0) + 1.0 / np.maximum(observed, 1e-12))
    df = np.where(complete > 0, df, 0.0)
    return estimates.mean(axis=0), total, df


def wide_to_long(data: Any, *, id: str, values: Mapping[str, Mapping[Any, str]]) -> dict[str, Any]:
    """One row per subject to one row per subject and time.

    Parameters
    ----------
    data : data frame, Arrow table, dict of columns, or path of a file
        One row per subject.
    id : str
        Column of the subject.
    values : dict
        For each variable that was measured repeatedly, the column of every time: ``{"pain": {0: "pain_0", 6:
        "pain_6"}}``. A time that a variable lacks is missing there. The columns left are repeated.

    Returns
    -------
    dict of columns
        With `id`, ``time``, the variables, and the other columns; `TemporalProcessRegression.fit` takes it.

    Examples
    --------
    >>> from rlselect.temporal import wide_to_long
    >>> long = wide_to_long(
    ...     {"who": [1, 2], "age": [40, 50], "y0": [1.0, 2.0], "y6": [3.0, 4.0]},
    ...     id="who", values={"y": {0: "y0", 6: "y6"}},
    ... )
    >>> long["time"].tolist(), long["y"].tolist(), long["age"].tolist()
    ([0, 6, 0, 6], [1.0, 3.0, 2.0, 4.0], [40, 40, 50, 50])
    """
    columns = Columns(data, "data")
    times = sorted({time for spread in values.values() for time in spread})
    spread_out = {name for spread in values.values() for name in spread.values()}
    kept = [name for name in columns.names if name not in spread_out]
    if id not in kept:
        raise ValueError(f"id={id!r} was given; it must be a column that is not one of the measurements.")
    frame = columns.to_pandas(kept, np.arange(columns.n_rows or 0))
    out: dict[str, Any] = {name: np.repeat(frame[name].to_numpy(), len(times)) for name in kept}
    out["time"] = np.tile(np.asarray(times), len(frame))
    for variable, spread in values.items():
        block = np.full((len(frame), len(times)), np.nan)
        for k, time in enumerate(times):
            if time in spread:
                block[:, k] = columns.numbers(spread[time], variable)
        out[variable] = block.ravel()
    return out
