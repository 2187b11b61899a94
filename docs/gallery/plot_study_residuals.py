"""
Residuals of the fit
====================

What the model leaves, in time, in frequency and in distribution: it should be the noise of the
sensor and nothing else.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.residuals(study)
