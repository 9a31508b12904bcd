"""The simulated trial that comes with the package, visits at irregular days and drop-out.

python experiments/make_simulated_visits.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

PLANNED = np.array([0, 14, 28, 56, 84, 112, 140, 168])
OUT = Path(__file__).parents[1] / "src/rlselect/datasets/files/simulated_visits.csv"


def arm_effect(day):
    """Nothing on day 0, six points fewer from day 84 on."""
    return -6.0 * np.minimum(day / 84.0, 1.0)


def main():
    rng, n = np.random.default_rng(2026), 160
    rows = []
    active = rng.permutation(n) < n // 2
    age = rng.integers(25, 76, n)
    trait = 4.0 * rng.normal(size=n)
    for who in range(n):
        wander = 0.0
        for visit, planned in enumerate(PLANNED):
            day = 0 if visit == 0 else int(planned + rng.integers(-5, 6))
            wander = 0.7 * wander + 2.0 * rng.normal()
            score = 30.0 - 0.02 * day + 0.08 * (age[who] - 50) + trait[who] + wander
            score += arm_effect(day) * active[who]
            arm = "active" if active[who] else "placebo"
            if visit == 0 or rng.random() > 0.05:
                rows.append((f"P{who + 1:03d}", arm, age[who], visit, day, round(max(score, 0.0), 1)))
            # the worse a patient is, the sooner the patient leaves
            if rng.random() < 1.0 / (1.0 + np.exp(2.6 - 0.15 * (score - 30.0))):
                break
    names = ["patient", "arm", "age", "visit", "day", "score"]
    pd.DataFrame(rows, columns=names).to_csv(OUT, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
