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
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "guides"]
html_theme = "furo"
html_math_renderer = "svg"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
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

# Examples and guides are run, and their pictures drawn, whenever they have changed; see _ext/gallery.py.
sphinx_gallery_conf = {
    "examples_dirs": ["guides", "../examples"],
    "gallery_dirs": ["auto_guides", "auto_examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"adherence\.py$",
    "subsection_order": [f"../examples/{room}" for room in ("everyone", "case", "decision", "moment")],
    "within_subsection_order": "gallery.ExampleOrder",
    "reset_modules": ("matplotlib", "gallery.fresh_start"),
    "reset_modules_order": "both",
    "doc_module": ("rlselect",),
    "backreferences_dir": "api/backreferences",
    "prefer_full_module": {r"rlselect\."},
    "capture_repr": (),
    "image_srcset": ["2x"],
    "nested_sections": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
