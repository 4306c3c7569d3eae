"""How good a policy is: many environments stepped together."""
