"""Show every character of a command that a person has to judge."""

import re
from unicodedata import category

# Blank though Unicode calls them letters, marks or symbols, and the marks of `visible` itself.
DECEPTIVE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2400-\u243f\u27e8\u27e9\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufffc\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    """Show what the eye would miss, so that what a person reads is what will run.

    Control characters become their pictures (␛) and whatever else is invisible, blank but not a plain space,
    or turns the direction its number (⟨U+202E⟩); so does every character that could pass for one of those
    marks. Line breaks stay. Long runs of blanks, which could push a tail off the card, become ⟨300 spaces⟩.
    """
    shown = "".join(map(_shown, text))
    shown = re.sub(r" {32,}", lambda run: f"⟨{len(run[0])} spaces⟩", shown)
    return re.sub(r"\n{8,}", lambda run: f"\n⟨{len(run[0])} line breaks⟩\n", shown)


def _shown(char: str) -> str:
    if " " <= char <= "~" or char == "\n":
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "␡"
    if category(char)[0] in "CZ" or DECEPTIVE.match(char):
        return f"⟨U+{ord(char):04X}⟩"
    return char
