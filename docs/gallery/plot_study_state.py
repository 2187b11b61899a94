"""
Residuals over the state
========================

Mean residual over position, velocity and load of every joint: where it leaves the band of its
noise, the model lacks something that depends on it.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.residuals_over_state(study)
