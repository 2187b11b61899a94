"""
Correlation of the estimates
============================

Parameters that this motion tells apart badly have large correlations.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.correlation(study)
