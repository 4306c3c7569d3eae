"""Makers of datasets, one file per environment family."""
