"""Axis 1: what the learner is told about a goal. One file, one representation."""
