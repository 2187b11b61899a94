"""Yan, Lu, Levy (2015): two-link arm, ELPIDSO against least squares and other searches."""
