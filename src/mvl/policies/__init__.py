"""Axis 4: how a policy is extracted from a value. One file per policy."""
