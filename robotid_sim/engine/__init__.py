"""The PyBullet engine; the only package that imports pybullet."""
