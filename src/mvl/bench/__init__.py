"""How fast this is on this machine, in ratios taken in one run."""
