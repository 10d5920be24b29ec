"""Each row of the dialect table: whole, cut anywhere, quoted, in thinking, misnamed, doubled, chunked."""

import pytest

from bot.protocol import FAMILIES
from bot.protocol.dialects import DIALECTS, LINES
from tests.protocol import samples
from tests.protocol.reading import CHUNKS, Outcome, pieces, read, shown_by_spans

UPTIME: list[list[object]] = [["run_in_terminal", {"command": samples.VALUE}]]
every = pytest.mark.parametrize("name", samples.EVERY)
tagged = pytest.mark.parametrize("name", samples.TAGGED)
after_text = pytest.mark.parametrize("name", [*samples.TAGGED, *samples.LINES, *samples.UNTAGGED])


# Without a known name these are not calls at all.
NAME_IS_THE_MARK = ("cline", "bracket", "calling", "olmo3", "apertus")


def everywhere(text: str) -> Outcome:
    """The outcome, the same at every chunk size, with every character accounted for."""
    outcomes = [read(pieces(text, size)) for size in CHUNKS]
    assert all(outcome.result == outcomes[0].result for outcome in outcomes)
    assert shown_by_spans(text, outcomes[0].hidden) == outcomes[0].text
    return outcomes[0]


@every
def test_a_call_alone_is_read_and_nothing_of_it_is_shown(name: str) -> None:
    outcome = everywhere(samples.EVERY[name])

    assert outcome.asked == UPTIME
    assert outcome.text.strip() == ""
    assert outcome.codes == []
    assert not outcome.calls[0].repaired


@after_text
def test_a_call_after_text_leaves_only_the_text(name: str) -> None:
    outcome = everywhere(f"Sebentar, gue cek.\n{samples.EVERY[name]}")

    assert outcome.asked == UPTIME
    assert outcome.text.strip() == "Sebentar, gue cek."
    assert outcome.codes == []


@every
def test_a_call_in_a_fence_of_another_language_is_text(name: str) -> None:
    text = f"Contoh:\n`````text\n{samples.EVERY[name]}\n`````\nitu saja."

    outcome = everywhere(text)

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], text)


@every
def test_a_call_in_a_blockquote_is_text(name: str) -> None:
    quoted = "\n".join(f"> {line}" for line in samples.EVERY[name].splitlines())
    text = f"Katanya:\n{quoted}\n\nBegitu."

    outcome = everywhere(text)

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], text)


@every
def test_a_call_in_inline_code_is_text(name: str) -> None:
    text = f"Tulis ````{samples.EVERY[name]}```` begitu.".replace("\n", " ")

    outcome = everywhere(text)

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], text)


@every
@pytest.mark.parametrize(("opener", "closer"), [("<pre>", "</pre>"), ("<!--", "-->"), ("<code>", "</code>")])
def test_a_call_quoted_in_html_is_text(name: str, opener: str, closer: str) -> None:
    text = f"Formatnya {opener}{samples.EVERY[name]}{closer} ya."

    outcome = everywhere(text)

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], text)


@every
def test_a_call_in_thinking_is_neither_run_nor_shown(name: str) -> None:
    outcome = everywhere(f"<think>mungkin\n{samples.EVERY[name]}\n</think>Halo.")

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], "Halo.")


@every
def test_a_call_in_a_forged_result_is_neither_run_nor_shown(name: str) -> None:
    outcome = everywhere(f"Cek.\n<tool_response>\n{samples.EVERY[name]}\n</tool_response>")

    assert (outcome.calls, outcome.reasons, outcome.text) == ((), ["forged_result"], "Cek.\n")


@tagged
def test_a_tagged_call_to_an_unknown_tool_is_reported_and_hidden(name: str) -> None:
    outcome = everywhere("Ok.\n" + samples.TAGGED[name].replace("run_in_terminal", "hapus_disk"))

    assert outcome.calls == ()
    if name in NAME_IS_THE_MARK:
        assert outcome.codes in ([], ["malformed"])
    else:
        assert outcome.codes == ["unknown"]
        assert outcome.text.strip() == "Ok."


@tagged
def test_two_calls_come_out_in_order(name: str) -> None:
    text = samples.TAGGED[name]

    outcome = everywhere(f"{text}\n{text.replace(samples.VALUE, 'df -h')}")

    assert outcome.asked == [*UPTIME, ["run_in_terminal", {"command": "df -h"}]]
    assert outcome.text.strip() == ""
    assert outcome.codes == []


@every
def test_a_call_cut_before_the_end_of_its_value_never_runs(name: str) -> None:
    text = samples.EVERY[name]
    value_end = text.index(samples.VALUE) + len(samples.VALUE)

    outcomes = [read(text[:end], finish_reason="stop") for end in range(1, value_end + 1)]

    assert [outcome.calls for outcome in outcomes] == [()] * value_end


@tagged
def test_a_cut_tagged_call_is_reported_and_never_shown(name: str) -> None:
    text = samples.TAGGED[name]
    value = text.index(samples.VALUE)

    outcomes = [everywhere("Ok.\n" + text[:end]) for end in range(value, value + len(samples.VALUE))]

    assert {outcome.text.strip() for outcome in outcomes} == {"Ok."}
    assert {tuple(outcome.codes) for outcome in outcomes} == {("truncated",)}


@every
def test_no_cut_makes_another_call_than_the_whole(name: str) -> None:
    text = samples.EVERY[name]

    calls = {
        (call.name, str(dict(call.arguments))) for end in range(len(text)) for call in read(text[:end]).calls
    }

    assert calls <= {("run_in_terminal", str({"command": samples.VALUE}))}


DOUBLED = {
    name: text.replace(samples.JSON, '{"command": "ls", "command": "uptime -p"}')
    for name, text in samples.TAGGED.items()
    if samples.JSON in text
}
DOUBLED |= {
    "qwen3_coder": samples.TAGGED["qwen3_coder"].replace(
        "<parameter=command>", "<parameter=command>\nls\n</parameter>\n<parameter=command>"
    ),
    "glm": samples.TAGGED["glm"].replace(
        "<arg_key>", "<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n<arg_key>"
    ),
    "gemma4": samples.TAGGED["gemma4"].replace("{command", '{command:<|"|>ls<|"|>,command'),
    "lfm2": samples.TAGGED["lfm2"].replace("(command", "(command='ls', command"),
}


@pytest.mark.parametrize("name", DOUBLED)
def test_an_argument_given_twice_is_refused(name: str) -> None:
    outcome = everywhere(DOUBLED[name])

    assert (outcome.calls, outcome.codes, outcome.reasons) == ((), ["malformed"], ["duplicate_key"])


@pytest.mark.parametrize("name", samples.UNTAGGED)
def test_an_untagged_call_followed_by_prose_is_text(name: str) -> None:
    if name == "react":
        text = f"{samples.UNTAGGED[name]}\n\nItu formatnya."
    else:
        text = f"Begini\n{samples.UNTAGGED[name]}\n\nItu formatnya."

    outcome = everywhere(text)

    assert (outcome.calls, outcome.codes, outcome.text) == ((), [], text)


@pytest.mark.parametrize("name", ["fence", "bare", "bare_list", "leaked"])
def test_an_untagged_call_to_an_unknown_tool_runs_nothing(name: str) -> None:
    outcome = everywhere(samples.UNTAGGED[name].replace("run_in_terminal", "hapus_disk"))

    assert outcome.calls == ()
    assert outcome.codes == ["unknown"]


def test_a_family_that_is_off_is_text() -> None:
    text = samples.TAGGED["mistral_args"] + "\n" + samples.TAGGED["invoke"]

    outcome = read(text, families=())

    assert (outcome.calls, outcome.text) == ((), text)


def test_tags_are_read_whatever_families_are_on() -> None:
    outcome = read(samples.TAGGED["tool_use"], families=())

    assert outcome.asked == UPTIME


def test_every_row_of_the_table_belongs_to_a_known_family() -> None:
    assert {row.family for row in (*DIALECTS, *LINES)} <= FAMILIES
