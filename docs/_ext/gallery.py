"""How the examples of the gallery are run and in which order they stand."""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt

# in the order of a first visit; what is not named comes last
ORDER = [
    *("for_everyone", "for_this_case", "for_this_decision", "at_this_moment"),
    *("tumours", "crime", "how_sure", "stand_ins", "missing_values", "several_classes", "grades", "survival"),
    *("clinic_visits", "rules", "zeros", "several_responses", "products", "third_order", "kernel_machine"),
    *("compare_selectors", "million_rows", "save_and_load"),
    *("triage", "frontier", "set_error", "numbers", "pixels"),
    *("two_stages", "overlap", "policy_tree"),
    *("curves", "irregular_visits", "two_groups"),
]


def place(filename):
    """Where a file stands among the others of its folder."""
    stem = Path(filename).stem
    return ORDER.index(stem) if stem in ORDER else len(ORDER), stem


class ExampleOrder:
    """Sort key of sphinx-gallery: the order above."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        return place(filename)

    def __repr__(self):
        return "<order of the examples>"


_outside = []


def fresh_start(conf, filename, when):
    """Around each example: its warnings are errors, and pictures have the same size everywhere."""
    if when == "after":
        warnings.filters[:] = _outside
        return
    _outside[:] = warnings.filters
    warnings.simplefilter("error")
    # deprecations within the libraries that draw and save the pictures
    warnings.filterwarnings("default", category=DeprecationWarning)
    plt.rcParams.update({"figure.figsize": (6.4, 4.0), "figure.constrained_layout.use": True})
