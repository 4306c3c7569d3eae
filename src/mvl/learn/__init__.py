"""From a recipe to trained parameters."""
