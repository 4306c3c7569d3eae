"""One run is one folder: what was asked, what came of it, and how to go on."""
