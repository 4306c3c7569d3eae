"""Evaluation of policies in many environments, which are stepped together."""
