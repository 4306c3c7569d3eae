"""Axis 4: how a policy is drawn from a value. One file, one policy."""
