"""Kinematics, dynamics and base parameters of a Robot."""
