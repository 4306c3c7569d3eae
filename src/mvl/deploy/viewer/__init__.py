"""A page on which a run's policy can be watched in 3-D."""
