"""How the site is built: ``sphinx-build -W -b html docs site``, without a network.

Notebooks and the pictures of the gallery are made when the site is built, in folders of their own.
"""

import importlib.metadata
import os
import sys
from functools import partialmethod
from pathlib import Path

import nbclient

import robotid_sim

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "gallery")]
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["COLUMNS"] = "88"
os.environ["ROBOTID_DOCS"] = str(HERE)

project = "robotid_sim"
author = copyright = "the robotid_sim authors"
release = version = importlib.metadata.version("robotid_sim")
extensions = [
    "paper_claims",
    "schema_tables",
    "theory_links",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinxcontrib.programoutput",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["stacked.js"]
exclude_patterns = ["_build", "gallery", "pictures/*.ipynb"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the sections of the docstrings have them
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"
suppress_warnings = ["ref.python"]  # two attributes of one name
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", ".*"),
    ("py:type", ".*"),
    ("py:obj", r"typing\..*"),
]  # types of signatures

nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / ".jupyter_cache")
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress
# What a command prints comes in pieces; MyST-NB's own merging puts a line end after each.
nbclient.NotebookClient.__init__ = partialmethod(
    nbclient.NotebookClient.__init__, coalesce_streams=True
)


sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "gallery"),
    "gallery_dirs": "pictures",
    "ignore_pattern": r"shared\.py",
    "image_scrapers": ("gallery_figures.save_figures",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
}


def setup(app):
    """Connect what follows; let pages be read side by side."""
    app.connect("autodoc-process-docstring", make_rubrics)
    app.connect("missing-reference", find_public)
    # It reads nothing, and does not say so: notebooks would run one after the other.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True


def make_rubrics(_app, what, _name, _object, _options, lines):
    """Make the heading ``References`` of a module a rubric: it would be a section of the page."""
    if what == "module" and "References" in lines:
        at = lines.index("References")
        lines[at : at + 2] = [".. rubric:: References"]


def find_public(app, env, node, content):
    """Resolve ``robotid_sim.NAME``, a public name, where it is documented: in its module."""
    package, _, name = node.get("reftarget", "").rpartition(".")
    if package != "robotid_sim" or name not in robotid_sim.__all__:
        return None
    target = f"{getattr(robotid_sim, name).__module__}.{name}"
    python, page = env.domains["py"], env.current_document.docname
    return python.resolve_xref(env, page, app.builder, "obj", target, node, content)
