"""`python -m tests.safety.fuzz [COUNT] [SEED]`."""

import sys

from tests.safety.fuzz.run import main

sys.exit(main(sys.argv[1:]))
