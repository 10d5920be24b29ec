"""Shell words whose value is known in part.

A word is a plain string. What only the running shell can know stands in it as one of the control characters
below, which the pre-screen keeps out of every command: so literal text, and the absence of it, is compared
with ordinary string methods.
"""

import re

ANY = "\x00"  # any text, quoted: exactly one word
NUM = "\x01"  # digits
NAME = "\x02"  # no slash, no blank, not an option: a host name, a date, a process id, a container id
PATH = "\x03"  # a path some lister printed; not an option
HOME = "\x04"  # the home directory, at the start of a word
STAR = "\x05"  # unquoted *
MARK = "\x06"  # unquoted ?
SET = "\x07"  # unquoted [...]
SPLIT = "\x08"  # any text, unquoted: none, one or many words, options included
OPEN, COMMA, CLOSE, BRACKET = "\x0e", "\x0f", "\x10", "\x11"  # unquoted { , } [ until they are read

UNKNOWN = ANY + SPLIT
GLOB = STAR + MARK + SET
HOLES = ANY + NUM + NAME + PATH + STAR + MARK + SET + SPLIT
RESERVED = frozenset(HOLES + HOME + OPEN + COMMA + CLOSE + BRACKET)

_HOLE = re.compile(f"[{re.escape(HOLES)}]")
_UNKNOWN = re.compile(f"[{re.escape(UNKNOWN)}]")
_SPECIAL = re.compile(r"[\\*?\[\]{},~]")
_SHOWN = str.maketrans(
    {ANY: "…", NUM: "…", NAME: "…", PATH: "…", SPLIT: "…", STAR: "*", MARK: "?", SET: "[…]", HOME: "~"}
)
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
    "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)


def is_literal(word: str) -> bool:
    """Whether the word is exactly known, glob characters counting as unknown."""
    return not _HOLE.search(word)


def is_unknown(word: str) -> bool:
    """Whether any part of the word could be any text at all."""
    return _UNKNOWN.search(word) is not None


def may_be_option(word: str) -> bool:
    """Whether the running shell could put an option here although none is written."""
    return SPLIT in word or word[:1] == ANY


def show(word: str) -> str:
    """Return the word as a person can read it, `…` for what is not known."""
    return word.translate(_SHOWN)


def read_unquoted(text: str) -> str:
    """Return the value of unquoted text: escapes removed, glob and brace characters marked."""
    if not _SPECIAL.search(text):
        return text
    out: list[str] = []
    index, end = 0, len(text)
    while index < end:
        char = text[index]
        if char == "\\":
            following = text[index + 1 : index + 2]
            if following != "\n":
                out.append(following)
            index += 2
            continue
        out.append({"*": STAR, "?": MARK, "{": OPEN, "}": CLOSE, ",": COMMA, "[": BRACKET}.get(char, char))
        index += 1
    return "".join(out)


def read_double_quoted(text: str) -> str:
    """Return the value of text inside double quotes, expansions taken out before."""
    if "\\" not in text:
        return text
    return re.sub(r'\\([\\$`"\n])', lambda match: "" if match[1] == "\n" else match[1], text)


def read_ansi_c(text: str) -> str:
    """Return the value of what stands between `$'` and `'`."""

    def value(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else "\ufffd"
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) == 2:
            return chr(ord(code[1]) & 0x1F)
        return _ESCAPES.get(code, "\\" + code)

    return _ANSI.sub(value, text)


def expand_braces(word: str) -> list[str]:
    """Return the words that brace expansion makes of one; marks that expand nothing become text again.

    At most 64 words come back; beyond that, one word of unknown text.
    """
    if OPEN not in word:
        return [word.replace(COMMA, ",").replace(CLOSE, "}")]
    if word.count(OPEN) > 32:
        return [SPLIT]
    start = word.find(OPEN)
    head, tail = word[:start].replace(COMMA, ",").replace(CLOSE, "}"), word[start + 1 :]
    parts, rest = split_braces(tail)
    if len(parts) < 2:
        inner = parts[0] if parts else ""
        if re.fullmatch(r"-?\d+\.\.-?\d+(\.\.-?\d+)?", inner):
            parts = [NUM, NUM]  # two words stand for however many there are
        elif ".." in inner:
            parts = [ANY, ANY]
        elif parts and COMMA in rest and CLOSE in rest:
            return [SPLIT]  # `{a}b,c}` is `a}b` and `c`
        else:
            return [head + "{" + more for more in expand_braces(tail)]
    words: list[str] = []
    ends = expand_braces(rest)
    for part in parts:
        middles = expand_braces(part)
        if [SPLIT] in (middles, ends) or len(words) + len(middles) * len(ends) > 64:
            return [SPLIT]
        words += [head + middle + end for middle in middles for end in ends]
    return words


def split_braces(text: str) -> tuple[list[str], str]:
    """Return the parts of a brace that has just opened, and what follows it; none when it never closes."""
    parts, begun, depth = list[str](), 0, 0
    for index, char in enumerate(text):
        if char == OPEN:
            depth += 1
        elif char == CLOSE and depth:
            depth -= 1
        elif char == CLOSE or (char == COMMA and not depth):
            parts.append(text[begun:index])
            begun = index + 1
            if char == CLOSE:
                return parts, text[begun:]
    return [], ""


def mark_sets(word: str) -> str:
    """Return the word with each unquoted `[...]` as one mark; other unquoted brackets become text again."""
    if BRACKET not in word:
        return word
    return re.sub(BRACKET + r"[^\]/]+\]", SET, word).replace(BRACKET, "[")
