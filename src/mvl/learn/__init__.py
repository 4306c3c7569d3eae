"""Training: from a recipe to trained parameters."""
