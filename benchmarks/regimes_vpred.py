"""How long RFE_Vpred (Algorithm 28) takes to eliminate: NumPy beside torch on the devices there are.

    python benchmarks/regimes_vpred.py --devices cpu torch
    python benchmarks/regimes_vpred.py --devices cpu cuda --out benchmarks/results/regimes_vpred.md

Setting II (two stages, 2 p + 2 history columns at the second), one thread on the CPU, seeds 5000 on. Only the
elimination is timed; the machines on the full histories, the decision features and the value are the same
work on the CPU whatever the device. A first elimination of a small trial warms each device up.
"""

import argparse
import os
import platform
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from rlselect import QLearning, TrialData  # noqa: E402
from rlselect.regimes import _q_learning  # noqa: E402
from rlselect.simulate import make_regime_trial  # noqa: E402


class Captured(Exception):
    """What the elimination was about to be given."""


def problem(n, p, seed):
    """Arguments of the elimination of a simulated trial."""
    simulated = make_regime_trial("II", n, p, random_state=seed)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    real = _q_learning.eliminate_by_value

    def capture(*arguments):
        raise Captured(*arguments[:-1])  # the device comes last

    _q_learning.eliminate_by_value = capture
    try:
        QLearning(selection="rfe-vpred", random_state=0).fit(trial)
    except Captured as captured:
        return captured.args
    finally:
        _q_learning.eliminate_by_value = real
    raise AssertionError("the elimination was never asked for")


def timed(arguments, device):
    start = time.perf_counter()
    chosen = _q_learning.eliminate_by_value(*arguments, device)
    return time.perf_counter() - start, [selection.path.order for selection in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", nargs="+", default=["cpu", "torch"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800])
    parser.add_argument("--covariates", type=int, default=30)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    small = problem(50, 5, 4999)
    for device in args.devices:
        timed(small, device)
    lines = [
        f"RFE_Vpred, setting II, p = {args.covariates}, on {platform.machine()}, one CPU thread.",
        "",
        "| subjects | " + " | ".join(f"{device}, s" for device in args.devices) + " | same order |",
        "|---|" + "---|" * len(args.devices) + "---|",
    ]
    for place, n in enumerate(args.sizes):
        arguments = problem(n, args.covariates, 5000 + place)
        found = [timed(arguments, device) for device in args.devices]
        same = all(orders == found[0][1] for _, orders in found)
        seconds = " | ".join(f"{taken:.2f}" for taken, _ in found)
        lines.append(f"| {n} | {seconds} | {'yes' if same else 'no'} |")
    text = "\n".join([*lines, ""])
    print(text)
    if args.out is not None:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
