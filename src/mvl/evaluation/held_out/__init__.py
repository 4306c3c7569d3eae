"""Measures of trained policies on held-out data, for where there is no simulator."""
