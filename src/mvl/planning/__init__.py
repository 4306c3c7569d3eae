"""Planning at run time: sub-goals on the way to a far goal, from a graph over the learned value."""
