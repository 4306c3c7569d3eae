"""The paper's toy problem: one obstacle, one goal, and several ways to compute the distance to it."""
