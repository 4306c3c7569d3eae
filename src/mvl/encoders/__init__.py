"""Encoders: what networks get in place of observations and goals. One file per encoder."""
