"""Dynamics and base parameters of a robot."""
