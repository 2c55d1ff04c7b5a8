"""`python -m gamedsl` is the command `gamedsl`."""

import sys

from gamedsl.cli import main

if __name__ == "__main__":
    sys.exit(main())
