"""Runs of training: each has one folder, with its description, metrics, evaluations and checkpoint."""
