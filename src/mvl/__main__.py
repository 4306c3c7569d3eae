"""`python -m mvl`."""

import sys

from mvl.cli import main

if __name__ == "__main__":
    sys.exit(main())
