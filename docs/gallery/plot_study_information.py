"""
Where the information is
========================

Which stretch of the motion tells most of each parameter: what may be left out, and what must
not.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.information(study)
