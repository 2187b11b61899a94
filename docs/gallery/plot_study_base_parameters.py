"""
Base parameters with error bars
===============================

Estimates over their standard deviations, beside the truth that only a virtual experiment knows.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.base_parameters(study)
