"""Kinematics: poses, Jacobians, inverse kinematics, and paths of a point that joints move."""
