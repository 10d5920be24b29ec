"""What makes a command unfit to be judged, seen in its raw text.

Nothing is normalised: the string judged must be the string that runs.
"""

import re
import unicodedata
from collections.abc import Iterator

from bot.safety.budget import SENTENCE

SHORT = 512  # characters; nothing can be tangled in so little
LONGEST = 4096  # bytes
LONGEST_WITH_HERE_DOCUMENT = 8192  # bytes
MOST_CODE = (
    1500  # characters beside here-documents: while one is open, the parser's time grows with the square
)
MOST_MARKS = 200  # of one bracket, or of pipes: the parser takes long to give up on them
MOST_GLOBS = 120  # of one sign at which the parser looks far ahead: back-quotes, and what starts `@(…)`
MOST_HERE_DOCUMENTS = 30  # and so it does with their number
WIDEST_GAP = 60  # blanks in a row that a person would scroll past

_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_][\w.\-]*)\1")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# `z=${y}\<newline>ls rm x` starts rm; `&\<newline>&` is `&&`.
_JOINED_LINE = re.compile(r"[^\s;|&(){}<>]\\\n|[){}<>]\\\n(?![ \t])|[;|&(]\\\n(?=[;|&()<>])")
# Possessive, and from the start of a run only: linear, however long the gap.
_GAP = re.compile(rf"(?<![ \t])[ \t]{{{WIDEST_GAP},}}+(?=\S|\n)|(?<![\n \t])[ \t]*+\n[\n \t]{{20,}}+(?=\S)")
# Letters and symbols that are drawn as nothing.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u180e\u034f\u17b4\u17b5")


def screen(command: str) -> Iterator[tuple[str, str]]:
    """Yield (sentence, fragment) for every reason not to go on; nothing for an ordinary command."""
    if len(command) > SHORT:
        here = _HERE_DOCUMENT.search(command, 0, LONGEST)
        longest = LONGEST_WITH_HERE_DOCUMENT if here else LONGEST
        if len(command) > longest or len(command.encode("utf-8", "replace")) > longest:
            # Nothing more is looked at: whoever asks must not wait for a megabyte to be read.
            yield "the command is too long to be read on a card", f"{len(command)} characters"
            return
        marks = 0 if here else max(map(command.count, "|()[]{}"))
        if (
            command.count("<<") > MOST_HERE_DOCUMENTS
            or marks > MOST_MARKS
            or max(map(command.count, "@?!*+`")) > MOST_GLOBS
            or (here and measure_code(command) > MOST_CODE)
        ):
            yield SENTENCE, ""
            return
    if not command.isascii():
        yield from screen_unicode(command)
    if control := _CONTROL.search(command):
        yield "hidden control characters", f"<U+{ord(control[0]):04X}>"
    if "\\\n" in command and (joined := _JOINED_LINE.search(command)):
        yield "a word is broken over two lines", joined[0].replace("\n", "<newline>")
    if "`" in command:
        if "\\" in command:
            yield "back-quotes together with backslashes can't be read for certain", "`"
        if "<<" in command:
            yield "back-quotes together with a here-document can't be read for certain", "`"
    if gap := _GAP.search(command):
        yield "text hidden behind a long gap", f"<{len(gap[0])} blanks>"


def measure_code(command: str) -> int:
    """Return how many characters are not plain text of here-documents; all, when one has no end."""
    code = at = 0
    for opening in _HERE_DOCUMENT.finditer(command):
        if opening.start() < at:
            continue
        line_end = command.find("\n", opening.end())
        closing = re.compile(rf"\n\t*{re.escape(opening[2])}(?=\n|\Z)").search(command, max(line_end, 0))
        if line_end < 0 or closing is None:
            return len(command)
        code += line_end - at
        body = command[line_end : closing.start()]
        if not opening[1] and ("$(" in body or "${" in body or "$[" in body):
            code += len(body)
        at = closing.end()
    return code + len(command) - at


def screen_unicode(command: str) -> Iterator[tuple[str, str]]:
    for char in command:
        if char < "\x80":
            continue
        kind = unicodedata.category(char)
        if kind == "Cs":
            yield "the text is not valid Unicode", f"<U+{ord(char):04X}>"
            return
        if kind in ("Cf", "Cn", "Co", "Zs", "Zl", "Zp") or char in _BLANK_LETTERS:
            yield "hidden or look-alike characters", f"<U+{ord(char):04X}>"
            return
