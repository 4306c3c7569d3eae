"""Use of a trained policy: in Python, and in the viewer."""
