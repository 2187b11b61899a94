"""
Tracking errors of the tool
===========================

Distance of the tool from its reference: the identified model does what the true one does.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.tool_errors(study)
