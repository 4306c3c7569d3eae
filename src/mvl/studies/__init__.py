"""Many runs as one thing: what is wanted, what is there, and whatever runs the rest. The store is plain run folders."""
