"""Reading one value a model wrote: JSON strictly, then with its structure mended, never its strings.

`Scanner` finds where a value ends, a piece at a time, and looks at every character once. It is as
lenient as the repair: single and curly quotes, bare keys, trailing commas, comments, Python's words,
`name(key=value)` and Gemma's quote tokens. `read` then asks jiter for the strict reading and, only if
that is refused, builds the value from the same scan.
"""

import math
import re
from dataclasses import dataclass

import jiter

MAX_DEPTH = 128
MAX_WORD = 512

BLANK = re.compile(r"[ \t\r\n\ufeff\u00a0]*")
WORD = re.compile(r"[-+]?[A-Za-z_$][\w$.\-]*|[-+]?[\d.][\w.+\-]*")
KEY_WORD = re.compile(r"[A-Za-z_$\d][\w$.\-]*")
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
HUGE = re.compile(r"[eE]\+?\d{3}")
BODY = {quote: re.compile(rf"[^\\{ends}]*+(?:\\.[^\\{ends}]*+)*+", re.DOTALL) for quote, ends in
        (('"', '"'), ("'", "'"), ("“", "“”"), ("”", "“”"))}  # fmt: skip
TOKENS = ('<|"|>', "<escape>")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/"}
WORDS: dict[str, object] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "None": None,
}  # fmt: skip
NOT_JSON = ("NaN", "Infinity", "-Infinity", "nan", "inf", "-inf", "+Infinity")
OPENERS = {"{": "}", "[": "]", "(": ")"}

VALUE, FIRST, KEY, FIRST_KEY, COLON, AFTER = range(6)


class UnreadableError(ValueError):
    """A value that must not be guessed.

    Attributes:
        reason: A stable word.
        offset: Character within the value where it went wrong, counted from 0.
    """

    def __init__(self, reason: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Reading:
    """A value and whether it had to be mended first."""

    value: object
    repaired: bool


class Scanner:
    """Finds the end of one value.

    Attributes:
        done: The value is whole.
        error: Why it can't be one, or None.
        used: Characters consumed so far.
        string_start: Where the last string began, counted like `used`.
        closable: Only brackets are missing: the last inner value is whole.
        in_string: The last string has not ended.
    """

    __slots__ = (
        "done", "error", "used", "string_start", "in_string", "steps", "repairs",
        "_stack", "_expect", "_quote", "_tokens", "_calls", "_build", "_values", "_keys",
    )  # fmt: skip

    def __init__(self, *, calls: bool = False, tokens: bool = False, build: bool = False) -> None:
        self.done = False
        self.error: UnreadableError | None = None
        self.used = 0
        self.string_start = 0
        self.in_string = False
        self.steps = 0
        self.repairs: set[str] = set()
        self._stack: list[str] = []
        self._expect = VALUE
        self._quote = ""
        self._tokens = tokens
        self._calls = calls
        self._build = build
        self._values: list[object] = []
        self._keys: list[str] = []

    @property
    def closable(self) -> bool:
        return bool(self._stack) and not self.in_string and self._expect in (AFTER, FIRST, FIRST_KEY)

    @property
    def value(self) -> object:
        """Return what was built; only for a scanner that builds and is done."""
        return self._values[-1]

    def close(self) -> None:
        """Add the missing brackets."""
        self.repairs.add("missing brackets")
        while self._stack and not self.error:
            self._shut()
        self.done = not self.error

    def run(self, text: str, at: int, ended: bool) -> int:
        """Read on from `at` and return where it stopped: at the end, at an error, or for want of text.

        Args:
            text: Holds the unread text from `at` on.
            ended: Nothing comes after `text`.
        """
        start = at
        base = self.used
        size = len(text)
        while not self.done and self.error is None:
            self.steps += 1
            if self.in_string:
                at = self._string(text, at)
                self.used = base + at - start
                if self.in_string:
                    break
                continue
            blank = BLANK.match(text, at)
            at = blank.end() if blank else at
            self.used = base + at - start
            if at >= size:
                break
            step = self._token(text, at, ended)
            if step < 0:
                break
            at += step
            self.used = base + at - start
        return at

    def _fail(self, reason: str, message: str) -> int:
        self.error = UnreadableError(reason, message, self.used)
        return 0

    def _token(self, text: str, at: int, ended: bool) -> int:
        """Take one token and return its length; negative to wait for more, 0 with `error` set."""
        char = text[at]
        expect = self._expect
        if char == "/" and self._stack:
            return self._comment(text, at, ended)
        if expect == AFTER:
            if char == ",":
                self._expect = VALUE if self._stack[-1] == "[" else KEY
                return 1
            if char == OPENERS[self._stack[-1]]:
                self._shut()
                return 1
            return self._fail("after_value", f"expected ',' or {OPENERS[self._stack[-1]]!r}, found {char!r}")
        if expect == COLON:
            if char == ("=" if self._stack[-1] == "(" else ":"):
                self._expect = VALUE
                return 1
            return self._fail("no_colon", f"expected ':' after the key, found {char!r}")
        if char in "}])" and self._stack and char == OPENERS[self._stack[-1]]:
            bare_value = expect == VALUE and self._stack[-1] != "["
            if bare_value:
                return self._fail("no_value", "a key has no value")
            if expect in (VALUE, KEY):
                self.repairs.add("trailing comma")
            self._shut()
            return 1
        if char in BODY:
            if self._stack and self._stack[-1] == "(" and expect in (KEY, FIRST_KEY):
                return self._fail("positional", "arguments must be written key=value")
            if char != '"':
                self.repairs.add("quotes")
            return self._open_string(char, 1)
        if char == "<" and self._tokens:
            return self._quote_token(text, at, ended)
        if expect in (KEY, FIRST_KEY):
            return self._bare_key(text, at, ended)
        if char in "{[":
            return self._open(char)
        return self._word(text, at, ended)

    def _open(self, char: str) -> int:
        if len(self._stack) >= MAX_DEPTH:
            return self._fail("too_deep", f"nested deeper than {MAX_DEPTH} levels")
        self._stack.append(char)
        self._expect = FIRST if char == "[" else FIRST_KEY
        if self._build:
            self._values.append([] if char == "[" else {})
        return 1

    def _shut(self) -> None:
        bracket = self._stack.pop()
        if self._build and bracket == "(":
            arguments = self._values.pop()
            self._values.append({"name": self._keys.pop(), "arguments": arguments})
        self._finish_value()

    def _finish_value(self) -> None:
        """The value on top is whole: put it where it belongs."""
        if not self._stack:
            self.done = True
            return
        self._expect = AFTER
        if not self._build:
            return
        value = self._values.pop()
        parent = self._values[-1]
        if isinstance(parent, list):
            parent.append(value)
        elif isinstance(parent, dict):
            parent[self._keys.pop()] = value

    def _give(self, value: object) -> None:
        if self._build:
            self._values.append(value)
        self._finish_value()

    def _take_key(self, key: str) -> None:
        self._expect = COLON
        if self._build:
            parent = self._values[-1]
            if isinstance(parent, dict) and key in parent:
                self._fail("duplicate_key", f"the key {key!r} is there twice")
            self._keys.append(key)

    def _open_string(self, quote: str, size: int) -> int:
        self.in_string = True
        self._quote = quote
        self.string_start = self.used
        return size

    def _string(self, text: str, at: int) -> int:
        """Read on inside a string; leaves `in_string` set when the text runs out."""
        if self._quote in TOKENS:
            found = text.find(self._quote, at)
            if found < 0:
                return max(at, len(text) - len(self._quote) + 1)
            end = found
            size = len(self._quote)
        else:
            body = BODY[self._quote].match(text, at)
            end = body.end() if body else at
            if end >= len(text) or text[end] == "\\":
                return end
            size = 1
        self.in_string = False
        self.used += end - at
        content = ""
        if self._build:
            raw = text[at:end]
            try:
                content = raw if self._quote in TOKENS else unescape(raw, self.repairs, self._calls)
            except UnreadableError as error:
                self.error = error
                return end
        if self._expect in (KEY, FIRST_KEY):
            self._take_key(content)
        else:
            self._give(content)
        return end + size

    def _quote_token(self, text: str, at: int, ended: bool) -> int:
        for token in TOKENS:
            if text.startswith(token, at):
                return self._open_string(token, len(token))
            if not ended and token.startswith(text[at:]):
                return -1
        return self._fail("unquoted", "expected a value, found '<'")

    def _bare_key(self, text: str, at: int, ended: bool) -> int:
        word = KEY_WORD.match(text, at)
        if word is None:
            return self._fail("no_key", f"expected a key, found {text[at]!r}")
        if word.end() == len(text) and not ended:
            if word.end() - at > MAX_WORD:
                return self._fail("unquoted", "a word without quotes is too long")
            return -1
        if self._stack[-1] == "{" and not self._tokens:
            self.repairs.add("bare key")
        self._take_key(word.group())
        return word.end() - at

    def _word(self, text: str, at: int, ended: bool) -> int:
        word = WORD.match(text, at)
        if word is None and text[at] in "+-" and at + 1 == len(text) and not ended:
            return -1
        if word is None:
            return self._fail("unquoted", f"expected a value, found {text[at]!r}")
        end = word.end()
        if end == len(text) and not ended:
            if end - at > MAX_WORD:
                return self._fail("unquoted", "a word without quotes is too long")
            return -1
        found = word.group()
        if self._calls and all(bracket == "[" for bracket in self._stack) and text[end : end + 1] == "(":
            if len(self._stack) > 1:
                return self._fail("unquoted", "a call must stand in the outermost list")
            self._stack.append("(")
            self._expect = FIRST_KEY
            if self._build:
                self._keys.append(found)
                self._values.append({})
            return end + 1 - at
        if found in WORDS:
            if found[0] in "TFN" and not self._calls:
                self.repairs.add("words")
            self._give(WORDS[found])
            return end - at
        if found in NOT_JSON:
            if self._build:
                return self._fail("not_a_number", f"{found} is not JSON")
            self._give(None)
            return end - at
        if NUMBER.fullmatch(found):
            value = number(found) if self._build else 0
            if isinstance(value, float) and not math.isfinite(value):
                return self._fail("not_a_number", f"{found[:20]} is too large")
            self._give(value)
            return end - at
        return self._fail("unquoted", f"text without quotes: {found[:40]!r}")

    def _comment(self, text: str, at: int, ended: bool) -> int:
        mark = text[at : at + 2]
        if len(mark) < 2:
            return self._fail("unquoted", "expected a value, found '/'") if ended else -1
        closer = {"//": "\n", "/*": "*/"}.get(mark)
        if closer is None:
            return self._fail("unquoted", "expected a value, found '/'")
        end = text.find(closer, at + 2)
        if end < 0:
            if ended or len(text) - at > MAX_WORD:
                return self._fail("unquoted", "a comment does not end")
            return -1
        self.repairs.add("comment")
        return end + len(closer) - at


def number(text: str) -> int | float:
    """Return a JSON number; integers of any size stay exact."""
    try:
        return int(text)
    except ValueError:
        return float(text) if len(text) < MAX_WORD else math.inf


def unescape(raw: str, repairs: set[str], python: bool = False) -> str:
    """Return what a string means; escapes JSON doesn't know keep their backslash.

    Raises:
        UnreadableError: A `\\u` escape is half a character.
    """
    if any(char < " " for char in raw):
        repairs.add("control characters")
    if "\\" not in raw:
        text = raw
    else:
        pieces: list[str] = []
        last = 0
        for found in ESCAPE.finditer(raw):
            pieces.append(raw[last : found.start()])
            last = found.end()
            mark = found.group(1)
            if len(mark) == 5:
                pieces.append(chr(int(mark[1:], 16)))
            elif mark in LETTERS:
                if mark == "'":
                    repairs.add("escape")
                pieces.append(LETTERS[mark])
            elif mark == "u":
                raise UnreadableError("bad_escape", "a \\u escape needs four hex digits", found.start())
            else:
                repairs.add("escape")
                pieces.append("" if python and mark == "\n" else found.group())
        pieces.append(raw[last:])
        text = "".join(pieces)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise UnreadableError("bad_escape", "a \\u escape is half a character", 0) from None


def read(text: str, *, calls: bool = False, tokens: bool = False, closed: bool = False) -> Reading:
    """Return the one value `text` holds.

    Args:
        calls: `name(key=value)` counts as `{"name": …, "arguments": {…}}`.
        tokens: Gemma's quote tokens count as quotes.
        closed: The block around it is closed, so missing brackets at its end may be added.

    Raises:
        UnreadableError: It is not one value, or reading it would take a guess.
    """
    strict = not (calls or tokens)
    if strict and (text.count("{") + text.count("[") <= MAX_DEPTH or shallow(text)):
        try:
            value = jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
        except (ValueError, UnicodeEncodeError):
            pass
        else:
            if not HUGE.search(text) or finite(value):
                return Reading(value, False)
    scanner = Scanner(calls=calls, tokens=tokens, build=True)
    end = scanner.run(text, 0, True)
    if not scanner.done and scanner.error is None and closed and scanner.closable:
        scanner.close()
    if scanner.error:
        raise scanner.error
    if not scanner.done:
        raise UnreadableError(
            "string_open" if scanner.in_string else "incomplete",
            "a string never ends" if scanner.in_string else "the value is not complete",
            scanner.string_start if scanner.in_string else len(text),
        )
    if text[end:].strip():
        raise UnreadableError("trailing", f"text after the value: {text[end : end + 40].strip()!r}", end)
    repairs = scanner.repairs - ({"quotes"} if calls else set())
    return Reading(scanner.value, bool(repairs))


def shallow(text: str) -> bool:
    """Tell whether a value nests no deeper than MAX_DEPTH."""
    scanner = Scanner()
    scanner.run(text, 0, True)
    return scanner.done


def finite(value: object) -> bool:
    """Tell whether no number in a value is infinite."""
    rest: list[object] = [value]
    while rest:
        match rest.pop():
            case float(found) if not math.isfinite(found):
                return False
            case dict(found):
                rest.extend(found.values())
            case list(found):
                rest.extend(found)
            case _:
                pass
    return True
