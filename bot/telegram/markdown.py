"""Markdown to text and spans, by telegramify-markdown, with what it would lose guarded.

Before the conversion characters that are no markup are hidden from it (`_literal`); after it, links that the
server would refuse become text, and blocks glued to their surroundings get their line breaks (`_mended`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING

from bot.telegram.split import MAX_TEXT, Span

if TYPE_CHECKING:
    from telegramify_markdown import MessageEntity

# Above this an answer fills more than the five messages after which a file is sent, and the converter's
# worst inputs (nested quotes) grow with the square of the length: 64 K characters take it 0.3 s, 256 K 3 s.
MAX_CONVERTED = 65_536
# The converter is slow at formulas, and each unclosed "\(" makes it search to the end.
MAX_FORMULAS = 64
# Lists within lists on one line: "1. 1. 1. …" is indented once more for each, and so are quotes.
DEEP = re.compile(
    r"^(?![-*+ \t]*$)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t>]+){16}|^(?:[ \t]*>){16}", re.MULTILINE
)

KINDS = frozenset(
    (
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "code",
        "pre",
        "text_link",
        "blockquote",
        "expandable_blockquote",
    )
)

SIGNIFICANT = re.compile(
    r"[\\`*_~\[$&|]|<https?:|^[ \t]*(?:[#>+=-]|\d{1,9}[.)])|^(?: {4}| {0,3}\t)", re.MULTILINE
)
CODE = re.compile(r"`|~~~|^(?: {4}| {0,3}\t)", re.MULTILINE)

LATEX = r"""\\(?:[dt]?frac|sqrt|sum|prod|int|oint|lim|infty|partial|nabla|alpha|beta|gamma|delta|epsilon
|theta|lambda|mu|pi|rho|sigma|tau|phi|omega|Gamma|Delta|Theta|Lambda|Sigma|Phi|Omega|times|cdot|cdots|ldots|div|pm|leq?
|geq?|neq?|approx|equiv|sim|to|rightarrow|leftarrow|Rightarrow|implies|iff|forall|exists|cup|cap|subset|subseteq|emptyset
|log|ln|sin|cos|tan|max|min|mod|vec|hat|bar|overline|text|mathrm|mathbf|mathbb|mathcal|left|right|begin)(?![A-Za-z])"""

LITERAL = re.compile(
    rf"""
    (?P<math> \$\$(?=[^$]*{LATEX})[^$]{{1,1000}}\$\$
            | \$(?=[^$\s])(?=[^$\n]*{LATEX})[^$\n]{{1,300}}(?<!\s)\$(?!\d) )
    # a bare URL, or one in (…); not the punctuation or the closing ** that follows it
  | https?://(?P<url>(?:[^\s<>"`|()\[\]*~]|\([^\s()]*\)|\*(?=\w)|~(?!~))*(?<![_.,:;!?'"]))
  | <(?!https?://[^\s<>]*>)         # vector<int> is no HTML
  | \$                              # $HOME/$PATH is no formula
  | (?<=\]):                        # [1]: … would be swallowed as a link definition
  | (?<=\[\])\(                     # a link without a text would show nothing
  | (?<=\s)\|\|(?=\s) | (?<=\w)\|\|(?=\w)             # a || b is no spoiler
  | (?<=\d)\*(?=\d) | (?<=/)\*\*?(?=/) | (?<=/)\*(?=\.)   # 2*3, /**/, /*.py
  | __[a-z]+__(?=\.py|\()           # __init__.py
    """,
    re.VERBOSE,
)
SPECIAL = "<$_*&\\|:(),~-"
# Characters no text should hold, then the private ones; those that a text does hold are passed over.
STAND_INS = (*range(0xFDD0, 0xFDF0), *range(0xE000, 0xF900))

# https://github.com/tdlib/td/blob/master/td/telegram/LinkManager.cpp (check_link): one wrong URL fails the
# whole message, so whatever is unusual here is shown as text.
WEB_URL = re.compile(
    r"https?://(?:[\w-]+\.)+[\w-]+(?::(?:[1-9]\d{0,3}|[1-5]\d{4}))?(?:[/?#][^\s\x00-\x1f\x7f]*)?",
    re.IGNORECASE,
)
APP_URL = re.compile(r"(?:tg|ton)://[A-Za-z0-9_-]+(?:[/?][^\s\x00-\x1f\x7f]*)?", re.IGNORECASE)

LANGUAGE = re.compile(r"[\w+#.-]{1,32}")


def convert_markdown(source: str) -> tuple[str, list[Span]]:
    """Return the text that Telegram shows and its formatting; `source` itself when it can't be converted.

    Args:
        source: Without lone surrogates, lines ending in `\\n`. Over 65,536 characters it is not converted.

    Returns:
        Text without trailing blanks, perhaps empty where `source` was not; spans in no particular order,
        nested and overlapping at will, some past the end of the text.
    """
    if len(source) > MAX_CONVERTED or not SIGNIFICANT.search(source) or DEEP.search(source):
        return source, []
    marks = [chr(code) for code in islice((c for c in STAND_INS if chr(c) not in source), len(SPECIAL))]
    if len(marks) < len(SPECIAL):
        return source, []
    hide = str.maketrans(dict(zip(SPECIAL, marks, strict=True)))
    reveal = str.maketrans(dict(zip(marks, SPECIAL, strict=True)))

    from telegramify_markdown import RenderConfig
    from telegramify_markdown.converter import convert_with_segments

    config = RenderConfig.isolated()
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.unordered_list_item, symbols.task_completed, symbols.task_uncompleted = "•", "✅", "⬜"
    symbols.image = "🖼 "
    config.cite_expandable = True
    # The converter looks for \( … \) in code as well.
    latex = (
        len(source) < MAX_CONVERTED // 4
        and source.count(r"\(") + source.count(r"\[") <= MAX_FORMULAS
        and not CODE.search(source)
    )
    try:
        text, entities, segments = convert_with_segments(
            _literal(source, hide), latex_escape=latex, config=config
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of the Rust parser is no Exception, and an answer must still arrive
        return source, []
    spans = _spans(text, entities, reveal)
    # "```ls -la" and nothing under it: the code was taken for the language of an empty block.
    spans += [
        Span(segment.text_start, segment.text_start, "pre", segment.language.translate(reveal))
        for segment in segments
        if segment.text_start == segment.text_end and segment.language
    ]
    text, spans = _mended(text.translate(reveal), spans)
    return text.rstrip(), spans


def _literal(source: str, hide: Mapping[int, str]) -> str:
    # Characters that must not be read as markup are replaced one for one, in code too: the converter then
    # has no say over them, every offset stays true, and they are put back afterwards.
    formulas = count(1)

    def hidden(match: re.Match[str]) -> str:
        if match["math"] and next(formulas) <= MAX_FORMULAS:
            return match[0]
        scheme = match[0].removesuffix(match["url"]) if match["url"] else ""
        return scheme + match[0].removeprefix(scheme).translate(hide)

    guarded = LITERAL.sub(hidden, source)
    if "```" in guarded or "~~~" in guarded:
        guarded = guarded.replace(",", ",".translate(hide))  # it cuts a fence's first line at the comma
    return "\n".join(_tables(guarded.split("\n"), hide)) if "|" in guarded else guarded


def _tables(lines: Sequence[str], hide: Mapping[int, str]) -> Iterator[str]:
    # A table becomes padded columns: links in it would lose their URLs, and one long cell blows up each row.
    index = 0
    while index < len(lines):
        if index + 1 == len(lines) or not _is_delimiter(lines[index + 1]):
            yield lines[index]
            index += 1
            continue
        end = index + 2
        while end < len(lines) and lines[end].strip(" \t>"):
            end += 1
        rows = list(lines[index:end])
        widths: dict[int, int] = {}
        for row in rows:
            for column, cell in enumerate(row.split("|")):
                widths[column] = max(widths.get(column, 0), len(cell) + 3)
        if sum(widths.values()) * len(rows) > max(MAX_TEXT, 4 * sum(map(len, rows))):
            rows[1] = rows[1].translate(hide)
        yield from (row.replace("](", "](".translate(hide)) for row in rows)
        index = end


def _is_delimiter(line: str) -> bool:
    return "-" in line and ("|" in line or ":" in line) and not line.strip(" \t>|:-")


def _spans(text: str, entities: Sequence["MessageEntity"], reveal: Mapping[int, str]) -> list[Span]:
    astral = [i for i, char in enumerate(text) if char > "\uffff"]
    units = [i + k for k, i in enumerate(astral)]

    def position(offset: int) -> int:
        return offset - bisect_left(units, offset)

    return [
        Span(
            position(entity.offset),
            position(entity.offset + entity.length),
            entity.type,
            (entity.url or entity.language or "").translate(reveal),
        )
        for entity in entities
        if entity.type in KINDS
    ]


def _mended(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    # At one position: 0 grows the span that ends there, 1 stands between, 2 grows the one that begins there.
    inserts: list[tuple[int, int, str]] = []
    kept: list[Span] = []
    linked = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start, end, detail = span.start, span.end, span.detail
        match span.kind:
            case "text_link" if start < linked or not (
                WEB_URL.fullmatch(detail) or APP_URL.fullmatch(detail)
            ):
                if text[start:end].strip() not in (detail, detail.removeprefix("mailto:")):
                    inserts.append((end, 0, f" ({detail})"))
                continue
            case "text_link":
                linked = end
            case "pre" if not text[start:end].strip():
                inserts.append((start, 2, detail))
                detail = ""
            case "pre":
                detail, extra = _language(detail)
                if extra:
                    inserts.append((start, 2, extra + "\n"))
        if span.kind in ("pre", "blockquote", "expandable_blockquote"):
            # In a list item the converter glues a block to what is around it.
            if start and text[start - 1] != "\n":
                inserts.append((start, 1, "\n"))
            if end < len(text) and text[end] != "\n" and (start == end or text[end - 1] != "\n"):
                inserts.append((end, 3 if start == end else 1, "\n"))
        kept.append(Span(start, end, span.kind, detail))
    if not inserts:
        return text, kept
    return _inserted(text, kept, sorted(inserts))


def _language(info: str) -> tuple[str, str]:
    # What follows the language on a fence's first line may be code: models leave out the line break.
    first, _, extra = info.strip().partition(" ")
    name = first.split(",")[0]
    return (name, extra.strip()) if LANGUAGE.fullmatch(name) else ("", info.strip())


def _inserted(
    text: str, spans: Sequence[Span], inserts: Sequence[tuple[int, int, str]]
) -> tuple[str, list[Span]]:
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    shifts = [0]
    done = 0
    for position, side, insert in inserts:
        parts += (text[done:position], insert)
        places.append((position, side))
        shifts.append(shifts[-1] + len(insert))
        done = position
    parts.append(text[done:])
    return "".join(parts), [
        Span(
            span.start + shifts[bisect_left(places, (span.start, 2))],
            span.end + shifts[bisect_left(places, (span.end, 3 if span.start == span.end else 1))],
            span.kind,
            span.detail,
        )
        for span in spans
    ]
