"""Axis 2: what geometry is asked of the value surface. One file, one regularizer."""
