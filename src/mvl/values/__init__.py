"""Axis 3: how a value is learned. One file per value."""
