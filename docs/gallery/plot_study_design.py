"""
Convergence of a design
=======================

Random draws, then sequential quadratic programming with the exact gradient of the criterion
through the regressor.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.design_convergence(study)
