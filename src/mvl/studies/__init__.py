"""Studies of many runs: a plan of experiments, a store of run folders, and engines that train what is missing in the store."""
