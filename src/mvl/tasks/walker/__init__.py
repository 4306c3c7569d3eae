"""Walking policies, trained online, that data is generated with."""
