"""What comes in: datasets, where they lie, how goals are drawn from them."""
