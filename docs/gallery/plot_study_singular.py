"""
What the data see
=================

Singular values of the problem: directions of the parameters that the motion sees well and
badly.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.singular_values(study)
