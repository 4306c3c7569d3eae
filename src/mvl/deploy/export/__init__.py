"""Policies as files that run without JAX."""
