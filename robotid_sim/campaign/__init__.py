"""Campaigns: many simulated experiments of one plan, each run once and stored."""
