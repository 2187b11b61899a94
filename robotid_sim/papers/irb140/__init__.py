"""ABB IRB 140: PSO against QPSO, sliding-mode control, neural kinematics."""

from robotid_sim.papers.irb140.paper import QuantumSwarms

__all__ = ["QuantumSwarms"]
