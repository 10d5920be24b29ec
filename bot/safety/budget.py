"""How much work one command may cost, counted in steps so that the answer never hangs on the clock."""

from dataclasses import dataclass

MOST_STEPS = 4000  # ordinary commands take tens to hundreds; all of them together stay under 50 ms
LONGEST_VALUE = 16384  # characters that one word may grow to
SENTENCE = "too long or too tangled to judge"


class TooTangledError(Exception):
    """The command costs more than it may; what was found until then still counts."""


@dataclass(slots=True)
class Budget:
    """Steps left for one command and every text inside it.

    Attributes:
        spent: Steps so far. A step is about a microsecond or a few: a node read, a word made, a rule asked.
    """

    most: int = MOST_STEPS
    spent: int = 0

    def spend(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            TooTangledError: More than `most` are spent; every later call raises again.
        """
        self.spent += steps
        if self.spent > self.most:
            raise TooTangledError
