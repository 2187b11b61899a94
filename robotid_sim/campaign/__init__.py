"""Campaigns: many virtual experiments as one plan, run once each and never lost."""
