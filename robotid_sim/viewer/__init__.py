"""Display of robots: a window, and pictures and films without a display."""
