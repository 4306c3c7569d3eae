"""Lights-Out: a puzzle whose exact distances are known, learned from random play."""
