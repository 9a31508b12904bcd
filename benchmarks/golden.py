"""Golden traces: what every estimator answers on small seeded data, to 1e-12.

For refactorings that must not change a digit. Record before, compare after, on the same machine with the same
versions of numpy, scipy and scikit-learn:

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/golden.py record benchmarks/results/golden.json.gz
    python benchmarks/golden.py compare benchmarks/results/golden.json.gz
    python benchmarks/golden.py compare benchmarks/results/golden.json.gz --cases 'revs-*,acp-*'

`compare` prints ok or the fields that differ, case by case with its seconds, and exits 1 if any differ.
Numbers may differ by 1e-12, relative or absolute; strings, whole numbers and truth values not at all. Of more
than 48 numbers, 24 that are spread evenly and means of all are kept; of more than 64 whole numbers or
strings, a hash. Fields that were not recorded are not looked at. What is renamed goes
into the tables of _golden_tools.py, mended defects into `EXPLAINED`.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
import warnings
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

import numpy as np

import _golden_rooms
import _golden_subset
from _golden_tools import RENAMED, REWORDED

TOLERANCE = 1e-12
PACKAGES = ("numpy", "scipy", "scikit-learn")
# what a clock decides
SKIPPED = ("seconds",)
# case: fields -> why they differ from the record
EXPLAINED: dict[str, str] = {}

KINDS = ("revs_", "acp_", "rfe_", "datumwise_", "regimes_", "temporal_")
CASES = {
    name.replace("_", "-"): case
    for module in (_golden_subset, _golden_rooms)
    for name, case in vars(module).items()
    if name.startswith(KINDS)
}

# ---- recording and comparing ----


def flatten(value, name, fields):
    """Nested dicts and lists as one dict of leaves."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in SKIPPED:
                flatten(inner, f"{name}.{key}" if name else str(key), fields)
    elif isinstance(value, list | tuple) and any(isinstance(v, dict | list | np.ndarray) for v in value):
        for k, inner in enumerate(value):
            flatten(inner, f"{name}.{k}", fields)
    else:
        fields[name] = leaf(value)
    return fields


def leaf(value):
    """An array as plain numbers or strings, shortened where it is large."""
    array = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
    out, flat = {"shape": list(array.shape)}, array.ravel()
    if array.dtype.kind == "f":
        flat = flat.astype(float)
        if flat.size > 48:
            picked = np.linspace(0, flat.size - 1, 24).astype(int)
            known = np.where(np.isfinite(flat), flat, 0.0)
            means = [known.mean(), (known * np.cos(np.arange(flat.size))).mean(), np.isnan(flat).mean()]
            flat = np.concatenate([flat[picked], means])
        return out | {"numbers": flat.tolist()}
    exact = flat.astype(int).tolist() if array.dtype.kind in "biu" else [str(v) for v in flat]
    if len(exact) > 64:
        exact = [hashlib.sha1(json.dumps(exact).encode()).hexdigest()]
    return out | {"exact": exact}


def difference(expected, found):
    """What differs between two leaves, or None."""
    if found is None:
        return "is not there"
    if expected["shape"] != found["shape"] or expected.keys() != found.keys():
        return f"{expected} became {found}"[:160]
    if "exact" in expected:
        before = [REWORDED.get(one, one) for one in expected["exact"]]
        wrong = [(a, b) for a, b in zip(before, found["exact"], strict=True) if a != b]
        return f"{len(wrong)} differ, first {wrong[0][0]!r} became {wrong[0][1]!r}" if wrong else None
    a, b = np.array(expected["numbers"]), np.array(found["numbers"])
    wrong = ~np.isclose(b, a, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    if not wrong.any():
        return None
    k = np.flatnonzero(wrong)[np.abs(b - a)[wrong].argmax()]
    return f"{wrong.sum()} of {len(a)} differ, most {a[k]:.17g} became {b[k]:.17g}"


def run(function):
    """Fields of a case, and its seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fields = flatten(function(), "", {})
    return fields, time.perf_counter() - start


def record(path, cases):
    known = {"versions": {name: version(name) for name in PACKAGES}, "cases": {}}
    for name, function in cases.items():
        known["cases"][name], seconds = run(function)
        print(f"{seconds:6.2f} s  {name}: {len(known['cases'][name])} fields", flush=True)
    text = json.dumps(known, separators=(",", ":")).encode()
    # without a time stamp: the same traces give the same file
    path.write_bytes(gzip.compress(text, 9, mtime=0))
    return 0


def present(found, key):
    """The field of this name, or of the name it has now."""
    front, dot, last = key.rpartition(".")
    names = (last, *RENAMED.get(last, ()))
    return next((found[front + dot + name] for name in names if front + dot + name in found), None)


def explained(case, field):
    """Why a field may differ, or None."""
    return next((why for key, why in EXPLAINED.items() if fnmatch(f"{case}:{field}", key)), None)


def compare(path, cases):
    known = json.loads(gzip.decompress(path.read_bytes()))
    here = {name: version(name) for name in PACKAGES}
    if known["versions"] != here:
        print(f"recorded with {known['versions']}, compared with {here}: last digits may differ")
    failed = 0
    for name, expected in known["cases"].items():
        if name not in cases:
            continue
        start = time.perf_counter()
        try:
            found, seconds = run(cases[name])
            wrong = {key: difference(expected[key], present(found, key)) for key in expected}
            wrong = {key: words for key, words in wrong.items() if words}
            reasons = {key: explained(name, key) for key in wrong}
            wrong = {key: words for key, words in wrong.items() if reasons[key] is None}
            known_reasons = sorted({reason for reason in reasons.values() if reason})
        except Exception as error:
            seconds, wrong, known_reasons = (
                time.perf_counter() - start,
                {type(error).__name__: str(error)},
                [],
            )
        print(f"{seconds:6.2f} s  {name}: {f'{len(wrong)} DIFFER' if wrong else 'ok'}", flush=True)
        for reason in known_reasons:
            print(f"             explained: {reason}")
        for key, words in wrong.items():
            print(f"             {key}: {words}")
        failed += bool(wrong)
    print(f"{failed} cases differ" if failed else "all ok")
    return int(failed > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--cases", default="*", help="comma-separated names or patterns")
    args = parser.parse_args()
    patterns = args.cases.split(",")
    cases = {name: f for name, f in CASES.items() if any(fnmatch(name, one) for one in patterns)}
    start = time.perf_counter()
    status = (record if args.what == "record" else compare)(args.file, cases)
    print(f"{len(cases)} cases, {time.perf_counter() - start:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
