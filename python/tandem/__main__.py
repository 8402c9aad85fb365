"""`python -m tandem` is the command `tandem`."""

import sys

from tandem.command import main

sys.exit(main())
