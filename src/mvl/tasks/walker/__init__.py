"""Walkers that are trained online, to make data with."""
