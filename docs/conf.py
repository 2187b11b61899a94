"""How the site is built: ``sphinx-build -W -b html docs site``, without a network."""

import importlib.metadata

project = "robotid_sim"
author = "The robotid_sim authors"
release = version = importlib.metadata.version("robotid_sim")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
html_theme = "furo"
html_title = project
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"


def setup(app):
    """Make headings within docstrings of modules rubrics: they would be sections of the page."""
    app.connect("autodoc-process-docstring", make_rubrics)


def make_rubrics(_app, what, _name, _object, _options, lines):
    """Replace ``References`` and its underline."""
    if what == "module" and "References" in lines:
        at = lines.index("References")
        lines[at : at + 2] = [".. rubric:: References"]
