"""What the chapter-2 analysis finds over many simulated trials, of which the example shows one.

python experiments/temporal_adherence.py --replicates 40 --seed 1000
"""

import argparse
import warnings

import numpy as np
from temporal_common import write_table

from rlselect import TemporalProcessRegression, two_sample_cvm
from rlselect.simulate import make_adherence
from rlselect.temporal import FlaggedTimeWarning

TRUE = ("sex", "race", "ishak")
OTHERS = ("mxad", "age", "infect", "education", "insurance", "employ", "marital", "alcohol", "vload")


def fit(formula, data, time):
    return TemporalProcessRegression(formula, link="logit").fit(data, id="id", time=time)


def one(seed, draws):
    study = make_adherence(random_state=seed)
    everything = " + ".join([*TRUE, *OTHERS])
    full = fit(f"svr ~ peginterferon + {everything}", study.weekly, "week")
    chosen = full.backward_selection(always_select=["peginterferon"]).selected
    out = {
        "ribavirin alone, IDS < .05": fit("svr ~ ribavirin", study.daily, "day").test("ribavirin").pvalue
        < 0.05,
        "peginterferon alone, IDS < .05": fit("svr ~ peginterferon", study.weekly, "week")
        .test("peginterferon")
        .pvalue
        < 0.05,
    }
    out |= {f"backward selection keeps {name}": name in chosen for name in TRUE}
    out["share of the nine other covariates kept"] = np.mean([name in chosen for name in OTHERS])
    mixed = fit("svr ~ ribavirin * peginterferon", study.weekly, "week")
    out["week 3 flagged in the interaction model"] = mixed.flags_[2] is not None
    out["share of other weeks flagged there"] = np.mean([f is not None for f in np.delete(mixed.flags_, 2)])
    week3 = study.weekly[study.weekly["week"] == 3].set_index("id")["peginterferon"]
    visits = study.visits[study.visits["id"].isin(week3.index)].copy()
    visits["skipped"] = (week3[visits["id"]] == 0).to_numpy()
    for score in ("fatigue", "platelets", "viral_load"):
        test = two_sample_cvm(score, "skipped", "id", data=visits, n_draws=draws, random_state=seed)
        out[f"{score} differs, CvM < .05"] = test.pvalue < 0.05
    at_week_4 = visits[visits["visit"] == 4]
    test = two_sample_cvm("viral_load", "skipped", "id", data=at_week_4, n_draws=draws, random_state=seed)
    out["viral load differs at week 4"] = test.pvalue < 0.05
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=500)
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    runs = [one(args.seed + k, args.draws) for k in range(args.replicates)]
    write_table(
        "temporal_adherence_seeds",
        f"Adherence study, {args.replicates} simulated trials",
        ["finding", "share of trials"],
        [[name, float(np.mean([run[name] for run in runs]))] for name in runs[0]],
        ["Symptoms, blood counts and the nine other covariates have no effect in the simulated truth."],
    )


if __name__ == "__main__":
    main()
