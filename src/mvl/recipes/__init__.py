"""Which parts make a method, and with which settings: tables, not code."""
