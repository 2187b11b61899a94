"""Showing robots: PyBullet's window, and pictures and films without a display."""
