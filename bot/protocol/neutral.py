"""Text from outside (tool output, what a person wrote) must not read as the protocol's own markup."""

from functools import cache

from bot.protocol.dialects import NS, PIPE, WORD
from bot.protocol.patterns import Pattern, escape, pattern

WORD_JOINER = "\u2060"

TAGS = (
    rf"{NS}(?:{WORD}|(?i:function|invoke|parameter|param|think(?:ing)?|thoughts?|reasoning"
    r"|(?:tool|function)[_-]?(?:response|result|output)s?|arg_key|arg_value|tool_name))\b"
    r"|(?i:tool)\s+[\w:.\-]+\s*="
    r"|start_function_(?:call|response)>|end_function_(?:call|response)>|escape>"
)


@cache
def markers() -> Pattern:
    """Return what is broken up; compiled when first needed, for every client imports this."""
    return pattern(
        rf"(?P<first><)(?=/?(?:{TAGS})|{PIPE}|/?(?:tool_call|tool_response|channel)\|>)"
        r"|(?P<first>\[)(?=/?(?:TOOL_CALLS|TOOL_RESULTS|THINK|ARGS|CALL_ID)\]|(?i:(?:calling\s)?tool:))"
        r"|(?P<first>\])(?=<\]minimax\[>\[)"
        r"|(?P<first>[✿◁])(?=FUNCTION|ARGS|RESULT|RETURN|/?think)"
        r"|(?P<first>(?i:tool))(?=\s(?i:execution)\s(?i:finished|selesai))"
        r"|(?P<first>(?i:execução))(?=\s(?i:d[ae])\s(?i:ferramentas?)\s(?i:concluída))"
        r"|(?P<first>(?i:end))(?=\s(?i:of tool results))"
    )


def neutralise(text: str, names: tuple[str, ...] = ()) -> str:
    """Break every marker of the protocol and of the result envelope by an invisible word joiner.

    Args:
        names: Tools whose names are tags in some dialects.

    Returns:
        The text, longer by one U+2060 a marker. Neutralising twice changes nothing more.
    """
    text = markers().sub(lambda found: f"{found['first']}{WORD_JOINER}", text)
    if names:
        spelled = "|".join(escape(name) for name in names)
        text = pattern(rf"<(?=/?(?i:{spelled})\s*/?>)").sub("<" + WORD_JOINER, text)
    return text


def broken_up(text: str) -> str:
    """Break everything a call of any dialect could begin with; only for text nothing else could clean."""
    return pattern(r"([<\[{])(?!\u2060)").sub("\\1" + WORD_JOINER, text)
