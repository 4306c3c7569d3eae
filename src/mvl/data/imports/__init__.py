"""Imports of a user's data: what is changed about episodes, how numbers are stored, and the files that are written."""
