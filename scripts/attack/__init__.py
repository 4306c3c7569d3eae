"""What `scripts/soak.py` does to commands."""
