"""Pictures of runs: value surfaces, action directions, learning curves, tables."""
