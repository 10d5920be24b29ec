"""What holds for any text at all (P5, P11)."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.protocol import Problem, Text, ToolCallParser, neutralise, strip
from tests.protocol import samples
from tests.protocol.more_cases import EVERY as MORE
from tests.protocol.reading import TOOLS, read, shown_by_spans
from tests.protocol.test_cases import LABELLED

TEXTS = [*(case["text"] for case in LABELLED), *(row[1] for row in MORE), *samples.EVERY.values()]
MARKS = ["<", ">", '"', "'", "`", "```", "{", "}", "[", "]", "\\", "\n", " ", "|", "/", "=", ":", ",", "a"]
MARKS += ["<think>", "</think>", "<tool_use>", "</tool_use>", "<|", "|>", "[TOOL_CALLS]", "```json\n"]
MARKS += ["<!--", "&quot;", "｜", "✿"]


@st.composite
def messy_text(draw: st.DrawFn) -> str:
    """Pieces of real messages, cut, joined and damaged."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from(TEXTS))
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, len(text)))
        parts.append(text if draw(st.booleans()) else text[begin:end])
        parts.append(draw(st.sampled_from(["", "\n", " ", *MARKS])))
    joined = "".join(parts)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(joined)))
        joined = joined[:at] + draw(st.sampled_from(["", *MARKS])) + joined[at + draw(st.integers(0, 1)) :]
    return joined


anything = st.one_of(
    messy_text(), st.lists(st.sampled_from(MARKS), max_size=60).map("".join), st.text(max_size=80)
)
many = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def cut_up(data: st.DataObject, text: str) -> list[str]:
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    parts, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        parts.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return parts


@many
@given(anything, st.data())
def test_how_a_text_is_cut_up_never_changes_the_result(text: str, data: st.DataObject) -> None:
    whole = read(text)

    assert read(cut_up(data, text)).result == whole.result
    assert read(list(text)).result == whole.result


@many
@given(anything)
def test_every_character_is_shown_or_hidden_for_a_reason(text: str) -> None:
    outcome = read(text)

    assert shown_by_spans(text, outcome.hidden) == outcome.text
    assert {span.reason for span in outcome.hidden} <= {"call", "problem", "thinking", "forged", "marker"}


@many
@given(anything)
def test_released_text_is_always_a_beginning_of_the_final_text(text: str) -> None:
    final = read(text).text
    parser = ToolCallParser(TOOLS)
    released = ""

    for char in text:
        released += "".join(event.text for event in parser.feed(char) if isinstance(event, Text))

        assert final.startswith(released)


@many
@given(anything)
def test_no_call_comes_after_a_problem_and_only_known_tools_come_out(text: str) -> None:
    outcome = read(text)

    order = list(outcome.order)
    assert "Call" not in order[order.index(Problem.__name__) :] if Problem.__name__ in order else True
    assert {call.name for call in outcome.calls} <= {tool.name for tool in TOOLS}
    assert all(isinstance(call.arguments, dict) for call in outcome.calls)


@many
@given(anything)
def test_what_the_stripper_returns_holds_no_call_and_stays_as_it_is(text: str) -> None:
    clean = strip(text, TOOLS)

    assert read(clean).calls == ()
    assert strip(clean, TOOLS) == clean


@many
@given(anything)
def test_neutral_text_has_no_tagged_call_and_neutralising_twice_changes_nothing(text: str) -> None:
    names = tuple(tool.name for tool in TOOLS)

    neutral = neutralise(text, names)

    assert neutralise(neutral, names) == neutral
    assert {call.dialect for call in read(neutral).calls} <= {
        "bare", "fence", "react", "command_r", "phi4", "functionary", "plain_harmony",
    }  # fmt: skip
    assert neutral.replace("\u2060", "") == text.replace("\u2060", "")
