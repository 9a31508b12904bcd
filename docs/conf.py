"""How the documentation is built: ``make docs``. Nothing is fetched from the network."""

import sys
from pathlib import Path

import rlselect

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rlselect"
author = "The rlselect developers"
copyright = "The rlselect developers"
release = version = rlselect.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "svgmath",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_math_renderer = "svg"
html_title = f"rlselect {version}"
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
# methods are listed by hand in docs/api: those that scikit-learn adds link into its own documentation
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"
