"""What the REVS paper prints: Tables 1 (minutes), 2 and 3 (number selected, TNR, PPV in percent)."""

__all__ = ["METHODS", "MINUTES", "SELECTED", "SIZES", "STRUCTURES"]

STRUCTURES = ("block", "banded", "sparse")
SIZES = (200, 400, 800)
METHODS = ("Lasso", "Elastic", "SCAD", "MCP", "REVS")

_MINUTES = """
block Lasso 3.18 6.51 18.12
block Elastic 6.88 17.02 52.65
block SCAD 1.70 4.34 62.34
block MCP 1.78 4.68 69.65
block REVS 0.34 0.82 3.38
banded Lasso 6.87 10.91 11.09
banded Elastic 14.95 26.05 31.25
banded SCAD 4.92 16.63 56.83
banded MCP 5.28 18.32 69.41
banded REVS 0.60 1.82 2.78
sparse Lasso 5.28 6.78 19.74
sparse Elastic 11.44 17.34 59.35
sparse SCAD 3.89 9.09 69.33
sparse MCP 4.05 9.52 78.90
sparse REVS 0.40 0.81 4.04
"""
_LINEAR = """
block Lasso 77.9 69.8 32.9 102.4 79.3 25.2 126.6 86.9 20.3
block Elastic 81.0 68.0 31.7 104.7 78.8 25.4 127.1 86.8 20.3
block SCAD 43.9 89.2 57.6 55.3 91.9 46.1 69.2 94.3 36.5
block MCP 33.4 95.2 75.9 35.8 97.1 71.0 41.2 97.9 61.4
block REVS 26.1 99.4 96.0 26.4 99.4 94.6 28.5 99.5 86.5
banded Lasso 56.6 82.0 46.2 61.5 90.2 44.8 75.0 93.5 36.5
banded Elastic 54.4 83.2 48.4 60.0 90.8 43.0 78.4 93.1 33.0
banded SCAD 26.9 98.8 98.7 27.3 99.4 97.5 28.2 99.6 95.6
banded MCP 26.8 99.1 99.2 27.6 99.6 98.8 28.7 99.5 98.3
banded REVS 25.0 100 100 25.0 100 100 25.0 100 100
sparse Lasso 79.8 68.7 32.3 101.0 79.7 25.6 129.8 86.5 19.6
sparse Elastic 84.9 65.8 30.0 108.0 77.9 24.1 126.5 86.9 20.6
sparse SCAD 29.2 97.6 88.3 30.6 98.5 90.6 31.2 99.2 94.5
sparse MCP 26.7 99.3 97.1 26.9 99.5 96.0 27.2 99.7 89.9
sparse REVS 25.6 99.6 97.7 26.1 99.7 97.2 26.5 99.8 95.8
"""
_LOGISTIC = """
block Lasso 16.70 98.76 78.60 19.98 98.28 67.56 25.42 98.35 49.57
block Elastic 45.06 83.64 39.01 48.26 91.28 35.57 72.12 92.60 25.29
block MCP 16.98 98.13 87.15 18.40 98.97 79.13 21.36 98.94 61.03
block SCAD 22.68 95.78 67.54 29.36 96.22 51.98 41.02 96.57 35.15
block REVS 16.26 99.04 89.73 16.62 99.16 81.16 18.96 99.03 61.29
banded Lasso 16.93 98.69 77.42 21.32 97.56 64.78 23.32 98.86 51.67
banded Elastic 42.16 85.94 41.31 47.74 91.87 36.86 69.13 93.35 27.21
banded MCP 24.73 94.76 64.26 26.31 97.02 59.13 26.78 96.68 48.83
banded SCAD 31.32 91.38 57.56 34.78 93.83 50.12 44.67 93.48 33.64
banded REVS 16.33 99.02 91.73 16.86 99.13 80.72 18.47 99.12 61.34
sparse Lasso 18.56 97.13 75.48 21.89 97.04 64.15 24.92 98.54 50.48
sparse Elastic 48.07 82.76 36.84 48.77 91.56 36.08 70.36 92.88 26.92
sparse MCP 21.37 96.83 72.15 28.40 96.31 60.72 31.46 97.37 43.12
sparse SCAD 30.76 91.89 59.91 39.36 91.07 47.63 47.02 92.05 31.08
sparse REVS 16.29 99.02 91.75 18.97 99.12 80.47 19.96 98.79 59.83
"""


def _read(text, measures):
    """(structure, p, method) -> the measures."""
    out = {}
    for line in text.split("\n")[1:-1]:
        structure, method, *values = line.split()
        for i, p in enumerate(SIZES):
            some = values[i * len(measures) : (i + 1) * len(measures)]
            out[structure, p, method] = dict(zip(measures, map(float, some), strict=True))
    return out


MINUTES = _read(_MINUTES, ("minutes",))
SELECTED = {
    "linear": _read(_LINEAR, ("n_selected", "tnr", "ppv")),
    "logistic": _read(_LOGISTIC, ("n_selected", "tnr", "ppv")),
}
