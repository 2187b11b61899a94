"""Yan, Lu, Levy (2015): two-link arm, ELPIDSO against least squares and other searches."""

from robotid_sim.papers.twolink.paper import TwoLinkElpidso

__all__ = ["TwoLinkElpidso"]
