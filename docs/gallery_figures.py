"""What the gallery takes from a script: its figures, which need not be those of pyplot."""

import itertools
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def save_figures(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures among the variables of a script and return their markup."""
    figures = {id(v): v for v in block_vars["example_globals"].values() if isinstance(v, Figure)}
    paths = list(itertools.islice(block_vars["image_path_iterator"], len(figures)))
    for figure, path in zip(figures.values(), paths, strict=True):
        figure.savefig(path, dpi=120, bbox_inches="tight", facecolor="white")  # in the dark, too
    words = Path(block_vars["src_file"]).stem.removeprefix("plot_").replace("_", " ")
    return str(figure_rst(paths, gallery_conf["src_dir"], words))
