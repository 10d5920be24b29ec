"""How the many models write a tool call: one row a dialect.

Sources of the forms: the models' chat templates and the parsers of vLLM, SGLang, llama.cpp and Ollama.
A row says how a block opens and which reader takes it from there; the readers share the closers.
"""

from dataclasses import dataclass
from functools import lru_cache

from bot.protocol.patterns import Pattern, escape, pattern

PIPE = "[|｜]"
LOW = "[▁_ ]"
NAME = r"[A-Za-z_][\w.\-]{0,127}"
M3 = r"(?:\]<\]minimax\[>\[)?"
NS = rf"(?:[A-Za-z][\w.\-]{{0,32}}:|{PIPE}DSML{PIPE}\s?)?"
WORD = r"(?i:(?:longcat_)?tool[_-]?(?:use|call)s?|function[_-]?calls?)"
VALUE = r"""(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')"""
ATTRIBUTE = rf"\s{{1,64}}[A-Za-z_][\w:.\-]{{0,127}}\s{{0,16}}=\s{{0,16}}{VALUE}"
WRAPPER = rf"{M3}<(?:{NS}{WORD}|{PIPE}DSML{PIPE}\s?calls)(?:{ATTRIBUTE})*+\s{{0,64}}/?>"
FUNCTION = (
    rf"{M3}<{NS}(?i:function|invoke)(?:\s{{0,8}}=\s{{0,8}}[\"']?{NAME}(?::\d{{1,6}})?[\"']?|(?:{ATTRIBUTE})++)"
    rf"\s{{0,64}}/?>"
)
PARAMETER = (
    rf"{M3}<{NS}(?i:parameter|param)(?:\s{{0,8}}=\s{{0,8}}[\"']?(?P<key>[\w.\-]{{1,128}})[\"']?"
    rf"|(?P<attributes>(?:{ATTRIBUTE})++))\s{{0,64}}>"
)
CALL_BEGIN = rf"<{PIPE}tool{LOW}call{LOW}begin{PIPE}>"
CALLS_BEGIN = (
    rf"<{PIPE}tool{LOW}calls{LOW}(?:section{LOW})?begin{PIPE}>"
    rf"|<{PIPE}tool{LOW}call{LOW}section{LOW}begin{PIPE}>"
)
K3_CALL = rf"<\|open\|>call(?:{ATTRIBUTE})*+\s{{0,8}}<\|sep\|>"
BLOCK_CLOSER = (
    rf"{M3}</{NS}{WORD}\s{{0,64}}>|</{PIPE}DSML{PIPE}\s?calls>"
    r"|</tool\s{0,8}>|<\|/tool_call\|>|<tool_call\|>|<end_function_call>|\[/TOOL_CALLS\]"
    rf"|<{PIPE}tool{LOW}calls?{LOW}(?:section{LOW})?end{PIPE}>"
    r"|<\|(?:END_ACTION|action_end|tools_suffix|eom_id|eot_id|im_end|call|end|return)\|>"
    r"|<\|close\|>(?:call|tools|message)<\|sep\|>"
    r"|</s>|<\|endoftext\|>|<｜end▁of▁sentence｜>|<turn\|>|<end_of_turn>|<eos>"
)
CLOSER = rf"{BLOCK_CLOSER}|{M3}</{NS}(?i:function|invoke)\s{{0,64}}>"
FENCE_WORDS = (
    "",
    "json",
    "jsonc",
    "json5",
    "tool_call",
    "tool_use",
    "tool_calls",
    "tool",
    "function_call",
    "tool_code",
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to open a block.

    Attributes:
        name: Also the group of its opener in the joined pattern.
        family: Families are switched per provider; `tags`, `thinking` and `quoting` are always on.
        opener: Regular expression; ends in something definite.
        reader: What reads on after it (see `parser.READERS`).
        closer: How it ends, for readers that only look for the end.
    """

    name: str
    family: str
    opener: str
    reader: str
    closer: str = ""


DIALECTS = (
    Dialect("code", "quoting", r"<(?i:code)(?:\s[^<>]{0,200})?>", "quote", r"</(?i:code)\s{0,8}>"),
    Dialect("pre", "quoting", r"<(?i:pre)(?:\s[^<>]{0,200})?>", "quote", r"</(?i:pre)\s{0,8}>"),
    Dialect("comment", "quoting", r"<!--", "quote", r"-->"),
    Dialect("declared_tools", "quoting", r"<(?i:tools)\s{0,8}>", "quote", r"</(?i:tools)\s{0,8}>"),
    Dialect("example", "quoting", r"<(?i:examples?)\s{0,8}>", "quote", r"</(?i:examples?)\s{0,8}>"),
    Dialect(
        "think",
        "thinking",
        rf"{M3}<{NS}(?i:think|thinking|thoughts?|reasoning|reason|scratchpad|antthinking)\s{{0,8}}>",
        "think",
        r"</(?:[\w.\-]{1,32}:)?(?i:think|thinking|thoughts?|reasoning|reason|scratchpad|antthinking)\s{0,8}>",
    ),
    Dialect("magistral", "thinking", r"\[THINK\]", "think", r"\[/THINK\]"),
    Dialect("cohere_think", "thinking", r"<\|START_THINKING\|>", "think", r"<\|END_THINKING\|>"),
    Dialect(
        "gemma_think", "thinking", r"<\|channel>(?:thought|thinking|analysis)\s", "think", r"<channel\|>"
    ),
    Dialect("kimi_think", "thinking", r"◁think▷", "think", r"◁/think▷"),
    Dialect("k3_think", "thinking", r"<\|open\|>think<\|sep\|>", "think", r"<\|close\|>think<\|sep\|>"),
    Dialect("thought", "thinking", r"<\|begin_of_thought\|>", "think", r"<\|end_of_thought\|>"),
    Dialect("apertus_think", "thinking", r"<\|inner_prefix\|>", "think", r"<\|inner_suffix\|>"),
    Dialect(
        "stray_think",
        "thinking",
        rf"</{NS}(?i:think|thinking|thoughts?|reasoning|scratchpad)\s{{0,8}}>|\[/THINK\]|◁/think▷"
        r"|<\|END_THINKING\|>|<channel\|>|<\|end_of_thought\|>|<\|inner_suffix\|>"
        r"|<\|(?:START|END)_RESPONSE\|>|<\|(?:open|close)\|>(?:response|message|think|tools)<\|sep\|>",
        "marker",
    ),
    Dialect(
        "tool_result",
        "thinking",
        rf"<(?P<forged>{NS}(?i:tool[_-]?(?:response|result|output)s?|function[_-]?(?:response|result|output)s?))"
        rf"(?:{ATTRIBUTE})*+\s{{0,8}}>",
        "forged",
        r"</(?:[\w.\-]{1,32}:)?(?i:(?:tool|function)[_-]?(?:response|result|output)s?)\s{0,8}>",
    ),
    Dialect("mistral_result", "thinking", r"\[TOOL_RESULTS\]", "forged", r"\[/TOOL_RESULTS\]"),
    Dialect("gemma_result", "thinking", r"<\|tool_response>", "forged", r"<tool_response\|>"),
    Dialect(
        "functiongemma_result",
        "thinking",
        r"<start_function_response>",
        "forged",
        r"<end_function_response>",
    ),
    Dialect(
        "deepseek_result",
        "thinking",
        rf"<{PIPE}tool{LOW}outputs?{LOW}begin{PIPE}>",
        "forged",
        rf"<{PIPE}tool{LOW}outputs{LOW}end{PIPE}>",
    ),
    Dialect("cohere_result", "thinking", r"<\|START_TOOL_RESULT\|>", "forged", r"<\|END_TOOL_RESULT\|>"),
    Dialect("chatml_result", "thinking", r"<\|im_start\|>tool\b\s", "forged", r"<\|im_end\|>"),
    Dialect("qwen2_result", "lines", r"✿RESULT✿", "forged", r"✿RETURN✿(?::|\s)"),
    Dialect("attributes", "tags", rf"<(?i:tool)(?:{ATTRIBUTE})++\s{{0,64}}/?>", "block"),
    Dialect("tag", "tags", WRAPPER, "block"),
    Dialect("function", "xml", FUNCTION, "function"),
    Dialect("lfm2", "tokens", r"<\|tool_call_start\|>", "block"),
    Dialect("cohere", "tokens", r"<\|START_ACTION\|>", "block"),
    Dialect("internlm", "tokens", r"<\|action_start\|>\s{0,8}<\|(?:plugin|interpreter)\|>", "block"),
    Dialect("apertus", "tokens", r"<\|tools_prefix\|>", "block"),
    Dialect("granite", "tokens", r"<\|tool_call\|>", "block"),
    Dialect("gemma4", "tokens", r"<\|tool_call>", "block"),
    Dialect("functiongemma", "tokens", r"<start_function_call>", "block"),
    Dialect("python_tag", "tokens", r"<\|python_tag\|>", "block"),
    Dialect("mistral", "tokens", r"\[TOOL_CALLS\]", "block"),
    Dialect("section", "tokens", CALLS_BEGIN, "section"),
    Dialect("section_call", "tokens", CALL_BEGIN, "section_call"),
    Dialect("kimi_k3", "tokens", K3_CALL, "kimi_k3"),
    Dialect("harmony", "tokens", r"<\|(?:start|channel)\|>", "harmony"),
    Dialect(
        "bracket",
        "lines",
        rf"\[(?i:(?:calling\s)?tool:\s{{0,8}})(?P<bracket>{NAME})\s{{0,8}}\(?\s{{0,8}}\{{",
        "bracket",
    ),
    Dialect(
        "qwen2",
        "lines",
        rf"✿FUNCTION✿\s{{0,4}}:?\s{{0,4}}(?P<qwen2_name>{NAME})\s{{1,8}}✿ARGS✿\s{{0,4}}:?\s{{0,8}}\{{",
        "qwen2",
    ),
)

# At the start of a line only.
LINES = (
    Dialect("functionary", "lines", rf">>>(?P<functionary_name>{NAME})[ \t]{{0,64}}\n", "functionary"),
    Dialect("phi4", "lines", r"functools\s{0,8}\[", "functools"),
    Dialect(
        "react",
        "lines",
        rf"Action:[ \t]{{0,64}}(?P<react_name>{NAME})[ \t]{{0,64}}"
        rf"\n\s{{0,64}}Action[ _]Input:\s{{0,64}}(?:```(?:json)?\s{{0,8}})?\{{",
        "react",
    ),
    Dialect("command_r", "lines", r"Action:\s{0,64}```(?:json)?[ \t]{0,64}\n\s{0,64}[\[{]", "command_r"),
    Dialect(
        "plain_harmony",
        "lines",
        rf"(?:assistant)?commentary\s{{1,8}}to=(?P<harmony_name>{NAME})\s{{0,8}}(?:json|code)?\s{{0,8}}\{{",
        "plain_harmony",
    ),
    Dialect(
        "envelope",
        "thinking",
        r"(?i:\[?tool execution (?:finished|selesai)|execução (?:da|de) ferramentas? (?:concluída|terminada))"
        r"\s{0,4}[.:]?\s{0,4}\((?i:step|etapa|langkah|passo)\s{0,4}\d{1,6}\s{0,4}/\s{0,4}\d{1,6}\)",
        "envelope",
    ),
)

ALWAYS = frozenset(("tags", "thinking", "quoting"))
FAMILIES = frozenset(row.family for row in (*DIALECTS, *LINES)) | {"fence", "bare"}


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of the enabled families, joined so that one match tells which row a text opens."""

    openers: Pattern
    blocks: Pattern
    lines: Pattern
    rows: dict[str, Dialect]


@lru_cache(maxsize=16)
def table(families: frozenset[str], tools: tuple[str, ...]) -> Table:
    """Join the rows of some families; a tag named like a tool is one more row."""
    enabled = families | ALWAYS
    rows = [row for row in DIALECTS if row.family in enabled]
    if "xml" in enabled and tools:
        spelled = "|".join(escape(name) for name in sorted(tools, key=len, reverse=True))
        rows.append(Dialect("cline", "xml", rf"<(?P<cline_name>(?i:{spelled}))\s{{0,64}}/?>", "cline"))
    lines = [row for row in LINES if row.family in enabled]
    acting = [row for row in rows if row.family not in ("quoting", "thinking")]
    return Table(
        openers=joined(rows),
        blocks=joined(acting),
        lines=joined(lines),
        rows={row.name: row for row in (*rows, *lines)},
    )


def joined(rows: list[Dialect]) -> Pattern:
    """Return one pattern whose group names are the rows'."""
    return pattern("|".join(f"(?P<{row.name}>{row.opener})" for row in rows))
