"""Regular expressions that can say "not yet": the `regex` module's partial matches.

`re` can't tell a text that does not match from one that ended too early, and a streaming parser is all
about that difference. See "Partial matches" in the module's documentation.
"""

from functools import lru_cache

import regex

Match = regex.Match[str]
Pattern = regex.Pattern[str]


@lru_cache(maxsize=256)
def pattern(source: str) -> Pattern:
    """Compile an expression once."""
    return regex.compile(source)


def escape(text: str) -> str:
    """Return an expression that matches `text` and nothing else."""
    return regex.escape(text)
