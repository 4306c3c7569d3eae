"""Statistics over seeds and tasks, tables beside the paper's, and the geometry of value surfaces."""
