"""`python -m bot.demo`: the whole product on this machine, without an account; see `bot.demo.play`."""

import sys

from bot.demo.play import main

if __name__ == "__main__":
    sys.exit(main())
