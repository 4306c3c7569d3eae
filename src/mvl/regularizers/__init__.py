"""Axis 2: a penalty on the geometry of the value surface. One file per regularizer."""
