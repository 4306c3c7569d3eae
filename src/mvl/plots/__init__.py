"""Pictures of runs: value fields, action fans, learning curves, tables."""
