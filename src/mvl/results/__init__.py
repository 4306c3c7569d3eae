"""What was found: statistics, tables beside the paper's, geometry of value surfaces."""
