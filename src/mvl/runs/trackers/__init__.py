"""Trackers, one file each: dashboards that show a run while it trains."""
