"""The benchmark: speed relative to this machine, as ratios of times measured together."""
