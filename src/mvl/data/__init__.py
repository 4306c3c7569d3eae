"""Datasets: reading, checking, generating and downloading them, and sampling batches with goals from them."""
