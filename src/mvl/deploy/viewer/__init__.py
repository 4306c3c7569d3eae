"""The viewer: a web page that shows episodes of a run's policy in 3-D."""
