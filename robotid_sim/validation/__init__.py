"""Validation: is the identified model right, and is its stated accuracy?"""
