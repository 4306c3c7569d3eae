"""The HTML report about runs."""
