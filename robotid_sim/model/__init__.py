"""Model of a robot: bodies, joints and friction, and its files (URDF, MJCF, SDF)."""
