"""Axis 1: how a goal is represented for the value and the policy. One file per representation."""
