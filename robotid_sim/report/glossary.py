"""What the words of a page mean, for whoever points at one."""

import re

from markupsafe import Markup, escape

TERMS = {
    r"NEES": "Normalized estimation error squared: the errors of all parameters over their "
    "covariance, per parameter. About 1 where the covariance is right.",
    r"Cramér-Rao": "The smallest standard deviation that an unbiased estimator can have with this "
    "motion and this noise.",
    r"[Bb]ase parameters?": "Sums of masses, moments, inertias and frictions on which the torques "
    "of the joints depend. A log tells these sums, and not their parts.",
    r"[Cc]ondition number": "How much better the data see one combination of the parameters than "
    "another: the largest singular value over the smallest.",
    r"[Ss]ingular values?": "What changes of the parameters in their independent directions do to "
    "the torques.",
    r"[Mm]odel error": "Torque of the identified robot less that of the true one on the same "
    "motion, without noise, over the RMS torque.",
    r"[Tt]racking gap": "By how much the controller tracks worse with the nominal model than with "
    "the true one.",
    r"[Dd]-optimality": "Design of a motion by the volume of the confidence ellipsoid of all "
    "parameters: the smaller, the better.",
    r"log det": "Logarithm of the determinant of the information: the larger, the smaller the "
    "confidence ellipsoid.",
    r"regressor": "The matrix that gives torques from parameters.",
    r"RMS": "Root of the mean square.",
    r"WLS": "Weighted least squares: every joint counts by its noise.",
    r"CONSISTENT": "The fit among robots that can exist: positive masses, inertia that a body can "
    "have, friction that does not drive.",
    r"nominal model": "What is believed of the robot before, such as its CAD numbers.",
    r"Ljung-Box": "A test of whether residuals that follow each other are correlated.",
    r"Student's t": "The distribution of an error over its estimated standard deviation: wider "
    "tails than the normal one where few data estimate it.",
    r"Stribeck": "Dry friction that falls when a joint begins to move.",
    r"eps": "The speed within which dry friction changes its sign.",
    r"likelihood": "How probable data are under a model.",
    r"essential": "Parameters without which the residual would grow significantly.",
    r"Kalman (?:filter|smoother)": "Estimates a signal from noisy samples by a model of how it "
    "changes; a smoother knows the later samples, too.",
    r"sliding-mode": "A controller that drives the error along a line to zero, in spite of a "
    "bounded disturbance.",
}
"""Patterns of terms, and what they mean."""

COLUMNS = {
    "parameter": "Of link or joint k: m mass; mx, my, mz first moments; Ixx to Izz inertia about "
    "the frame of the link; Fv viscous, Fc Coulomb friction, Fo offset; Ia inertia of the rotor. "
    "With R, a sum: see its grouping.",
    "grouping": "The sum of single parameters that a base parameter stands for.",
    "std": "Standard deviation.",
    "std [%]": "Standard deviation over the size of the value.",
    "95 % interval": "Of a hundred such intervals, 95 hold the true value.",
    "|error| / std": "Distance from the truth in standard deviations: about two of three are below "
    "1, one of twenty above 2.",
    "std / bound": "Standard deviation over the smallest one that is possible (Cramér-Rao).",
    "fitness / LS": "Weighted sum of squares over that of least squares, which none is below.",
    "criterion / optimum": "What a search minimizes, over the least value that is possible.",
    "fit residual": "Torque that the fit leaves of the filtered rows.",
    "unseen": "Torque that is left of a motion that the fit has not seen.",
    "gap closed": "Share of the tracking gap that is gone with the identified model.",
    "explained": "Share of the variance of the torque.",
    "moving": "Without samples slower than the friction velocity, where dry friction is uncertain.",
    "filtered": "Of rows that are filtered as those of the fit.",
}
"""What columns of tables mean, where no term says it."""

_ALTERNATIVES = "|".join(f"(?P<t{k}>{term})" for k, term in enumerate(TERMS))
_WORDS = re.compile(rf"(?<![\w-])(?:{_ALTERNATIVES})(?![\w-])")
_MEANINGS = tuple(TERMS.values())
_CODE = re.compile(r"(`[^`]+`)")


def prose(text: str, told: set[str] | None = None) -> Markup:
    """Return a text as HTML: code between backticks, terms with what they mean.

    Each term is an abbreviation once; `told` are meanings that were given before on this part of
    the page, and is extended.
    """
    told = set() if told is None else told
    parts = _CODE.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part[1:-1]) if k % 2 else _explained(part, told)
        for k, part in enumerate(parts)
    )


def meaning(column: str) -> str:
    """Return what a column of a table means, empty where its name says it."""
    if column in COLUMNS:
        return COLUMNS[column]
    found = _WORDS.search(column)
    return _meaning(found) if found else ""


def _explained(text: str, told: set[str]) -> Markup:
    html, end = Markup(""), 0
    for found in _WORDS.finditer(text):
        means = _meaning(found)
        if means not in told:
            told.add(means)
            html += escape(text[end : found.start()])
            html += Markup('<abbr title="{}" tabindex="0">{}</abbr>').format(means, found[0])
            end = found.end()
    return html + escape(text[end:])


def _meaning(found: re.Match[str]) -> str:
    assert found.lastgroup is not None
    return _MEANINGS[int(found.lastgroup[1:])]
