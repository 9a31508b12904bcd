"""A study of adherence to two drugs, shaped like the hepatitis C trial of the dissertation.

The trial's own data are not public. The numbers of subjects, weeks and covariates, the share of responders
and the number of subjects who skip the injection in week 3 follow the published description; everything else
is a plain stochastic model written down here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]

VISIT_WEEKS = (0, 1, 2, 4, 8, 12)
SYMPTOMS = ("muscle_ache", "irritability", "headache", "fatigue", "depression", "overall")


@dataclass(frozen=True)
class AdherenceStudy:
    """Tables of a simulated study (pandas data frames).

    Attributes
    ----------
    daily : one row per subject and day: ``id, day, week, ribavirin`` (0/1), the response ``svr`` and baseline
    weekly : one row per subject and week: ``id, week, peginterferon`` (0/1), ``ribavirin`` (share of the
        week's days), ``rib_1`` ... ``rib_7``, ``svr`` and baseline
    visits : one row per subject and visit: ``id, visit`` (week), symptom scores and laboratory values
    baseline : one row per subject
    """

    daily: Any
    weekly: Any
    visits: Any
    baseline: Any


def make_adherence(
    n_subjects: int = 401,
    n_weeks: int = 24,
    *,
    missing: float = 0.03,
    random_state: Any = None,
) -> AdherenceStudy:
    """Simulate subjects on a daily and a weekly drug and their sustained response.

    Adherence of a subject persists from week to week and is shared between the drugs. The response depends
    on the adherence of all weeks with weights that halve every four weeks (the early-week effect), on sex,
    race and fibrosis, and on one rule: who skips the injection of week 3 and is not fully adherent to the
    daily drug in that week never responds. That rule separates week 3 in the model with an interaction.

    Parameters
    ----------
    n_subjects : int, default=401
    n_weeks : int, default=24
        At least 4.
    missing : float, default=0.03
        Share of day and week records that are missing, at random; as many subjects again drop out for good at
        a random time.
    random_state : int, Generator or None

    Returns
    -------
    AdherenceStudy

    Examples
    --------
    >>> from rlselect.simulate import make_adherence
    >>> study = make_adherence(random_state=0)
    >>> study.baseline.shape[0], study.weekly["week"].nunique(), study.daily["day"].nunique()
    (401, 24, 168)
    """
    if n_weeks < 4:
        raise ValueError(f"n_weeks must be at least 4 (week 3 has a role of its own), given {n_weeks}")
    if not 0 <= missing < 1:
        raise ValueError(f"missing must lie in [0, 1), given {missing}")
    if n_subjects < 1:
        raise ValueError(f"n_subjects must be at least 1, given {n_subjects}")
    rng = np.random.default_rng(random_state)
    baseline = _baseline(n_subjects, rng)
    daily, injection = _adherence(n_subjects, n_weeks, rng)
    response = _response(baseline, daily, injection, rng)
    skipped = injection[:, 2] == 0
    visits = _visits(baseline, response, skipped, rng)
    return _tables(baseline, daily, injection, response, visits, missing, rng)


def _baseline(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "sex": np.where(rng.random(n) < 0.65, "male", "female"),
        "race": np.where(rng.random(n) < 0.51, "caucasian", "african_american"),
        "mxad": (rng.random(n) < 0.3).astype(int),
        "age": np.round(rng.normal(48, 8, n).clip(18, 70)),
        "ishak": rng.choice(np.arange(7), n, p=[0.06, 0.22, 0.30, 0.22, 0.10, 0.06, 0.04]).astype(float),
        "infect": rng.choice(["needle", "transfusion", "other"], n, p=[0.55, 0.2, 0.25]),
        "education": rng.choice(["school", "college", "degree"], n, p=[0.4, 0.3, 0.3]),
        "insurance": rng.choice(["private", "public", "none"], n, p=[0.55, 0.3, 0.15]),
        "employ": (rng.random(n) < 0.6).astype(int),
        "marital": (rng.random(n) < 0.5).astype(int),
        "alcohol": (rng.random(n) < 0.25).astype(int),
        "vload": np.round(rng.normal(6.3, 0.7, n), 2),
    }


def _adherence(n: int, n_weeks: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Daily doses (n, weeks, 7) and weekly injections (n, weeks), 1 = taken."""
    trait = rng.normal(size=n)
    mood = np.empty((n, n_weeks))
    mood[:, 0] = rng.normal(size=n)
    for week in range(1, n_weeks):
        mood[:, week] = 0.6 * mood[:, week - 1] + 0.8 * rng.normal(size=n)
    # motivation wears off over the course
    drift = -0.7 * np.arange(n_weeks) / (n_weeks - 1)
    lean = trait[:, None] + 0.7 * mood + drift
    daily = (rng.random((n, n_weeks, 7)) < expit(2.4 + 1.2 * lean)[:, :, None]).astype(float)
    injection = (rng.random((n, n_weeks)) < expit(3.7 + 1.2 * lean)).astype(float)
    return daily, injection


def _response(
    baseline: dict[str, Any], daily: Array, injection: Array, rng: np.random.Generator
) -> NDArray[np.intp]:
    n_weeks = injection.shape[1]
    early = 0.5 ** (np.arange(n_weeks) / 4.0)
    early /= early.sum()
    shares = daily.mean(axis=2)
    eta = (
        -4.9
        + 2.6 * shares @ early
        + 2.6 * injection @ early
        + 0.9 * (baseline["race"] == "caucasian")
        - 0.6 * (baseline["sex"] == "male")
        - 0.28 * (baseline["ishak"] - 2.0)
    )
    never = (injection[:, 2] == 0) & (shares[:, 2] < 1)
    return ((rng.random(len(eta)) < expit(eta)) & ~never).astype(np.intp)


def _visits(
    baseline: dict[str, Any], response: Any, skipped: Any, rng: np.random.Generator
) -> dict[str, Array]:
    """Scores by visit, (n, visits); only the viral load knows of the response and of the skipped dose."""
    n, k = len(response), len(VISIT_WEEKS)
    weeks = np.array(VISIT_WEEKS, dtype=float)
    out = {}
    for name in SYMPTOMS:
        level = 3.0 + 1.5 * rng.normal(size=(n, 1)) + 1.2 * (1.0 - np.exp(-weeks / 2.0))
        out[name] = np.round(level + rng.normal(size=(n, k))).clip(0, 10)
    for name, start, fall, spread in (
        ("wbc", 6.5, 2.4, 1.2),
        ("npc", 3.6, 1.8, 0.8),
        ("platelets", 210, 50, 45),
    ):
        person = rng.normal(size=(n, 1))
        path = start - fall * (1.0 - np.exp(-weeks / 2.0))
        out[name] = np.round((path + spread * (0.8 * person + 0.6 * rng.normal(size=(n, k)))).clip(0.1), 2)
    slope = 0.32 + 0.25 * response + 0.10 * rng.normal(size=n)
    delay = 0.9 * skipped[:, None] * np.exp(-(((weeks - 4.0) / 2.0) ** 2)) * (weeks > 0)
    load = baseline["vload"][:, None] - 3.0 * (1.0 - np.exp(-slope[:, None] * weeks)) + delay
    out["viral_load"] = np.round((load + 0.4 * rng.normal(size=(n, k))).clip(1.0), 2)
    return out


def _present(n: int, k: int, missing: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Records that exist: some are lost at random, some subjects leave for good."""
    seen = rng.random((n, k)) >= missing
    leaves = np.where(rng.random(n) < missing, rng.integers(max(k // 4, 1), k + 1, size=n), k)
    return seen & (np.arange(k) < leaves[:, None])


def _tables(
    baseline: dict[str, Any],
    daily: Array,
    injection: Array,
    response: Any,
    visits: dict[str, Array],
    missing: float,
    rng: np.random.Generator,
) -> AdherenceStudy:
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            'make_adherence returns pandas data frames: pip install "rlselect[temporal]"'
        ) from None

    n, n_weeks = injection.shape
    ids = np.array([f"P{i + 1:04d}" for i in range(n)])
    people = pd.DataFrame({"id": ids, "svr": response, **baseline})

    def long(k: int, name: str, start: int, columns: dict[str, Array]) -> Any:
        table = pd.DataFrame({"id": np.repeat(ids, k), name: np.tile(np.arange(start, start + k), n)})
        for key, values in columns.items():
            table[key] = values.reshape(n * k)
        return table

    days = long(n_weeks * 7, "day", 1, {"ribavirin": daily})
    days["week"] = (days["day"] - 1) // 7 + 1
    week_columns = {"peginterferon": injection, "ribavirin": daily.mean(axis=2)}
    week_columns |= {f"rib_{d + 1}": daily[:, :, d] for d in range(7)}
    weeks = long(n_weeks, "week", 1, week_columns)
    readings = long(len(VISIT_WEEKS), "visit", 0, visits)
    readings["visit"] = np.tile(VISIT_WEEKS, n)
    kept = [
        table[_present(n, len(table) // n, missing, rng).ravel()].reset_index(drop=True)
        for table in (days, weeks, readings)
    ]
    return AdherenceStudy(kept[0].merge(people, on="id"), kept[1].merge(people, on="id"), kept[2], people)
