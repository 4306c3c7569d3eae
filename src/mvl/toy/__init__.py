"""The paper's toy problem: one obstacle, one goal, and several ways to find how far everything is."""
