"""Replicates in a file that grows by one JSON line per run: an experiment goes on where it stopped."""

import json
import time


class Records:
    """Runs, each named by a tuple, and what each gave.

    Parameters
    ----------
    path : Path or None
        The file; runs in it are not repeated.
    """

    def __init__(self, path):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self.known = {tuple(record.pop("run")): record for record in map(json.loads, lines)}

    def collect(self, runs, one, seconds=float("inf")):
        """Add what ``one(*run)`` gives for each run; none begins after so many CPU seconds."""
        for run in runs:
            if run in self.known or time.process_time() > seconds:
                continue
            self.known[run] = one(*run)
            print(run, self.known[run], flush=True)
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"run": run, **self.known[run]}) + "\n")

    def of(self, *names):
        """Records of the runs whose names begin with these."""
        return [record for run, record in self.known.items() if run[: len(names)] == names]
