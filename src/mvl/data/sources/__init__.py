"""Readers of dataset files, one per layout."""
