"""ABB IRB 140: PSO against QPSO, sliding-mode control, neural kinematics."""
