"""Motions in the languages of robot controllers."""
