"""What a careful look at a dataset finds: a text summary with warnings, each with the flag that mends it."""
