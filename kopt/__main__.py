"""`python -m kopt` is the command line."""

import sys

from kopt.cli import main

sys.exit(main())
