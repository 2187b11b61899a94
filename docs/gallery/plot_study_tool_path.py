"""
Path of the tool
================

Where the tool goes on the excitation: what surrounds an arm is not in its URDF, so look before
a machine runs it.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.tool_path(study)
