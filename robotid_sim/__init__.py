"""Identify the dynamic parameters of a URDF robot in simulation, and from real logs."""
