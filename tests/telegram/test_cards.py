"""How a question looks, and what its buttons say (A5; §5)."""

import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.store.base import Approval, CardLine, Code, Revert, Reverting, Status
from bot.telegram.cards import (
    MAX_COMMAND,
    Press,
    Verb,
    card,
    clock_time,
    cut,
    read_press,
    too_long,
    whole,
)
from bot.telegram.outbox import marked
from bot.telegram.render import Rendered, utf16_len
from bot.texts import LANGUAGES, say
from tests.telegram.conftest import question

DECIDED: dict[str, Any] = {"decided_by": 7, "decided_name": "Alice", "decided_at": 1_700_000_100.0}
ODD = st.text(alphabet=st.sampled_from("a 😀\n\t\x1b\u202e\u200b\ud800é⟨"), max_size=80)


def covered(rendered: Rendered, kind: str) -> list[str]:
    """What entities cover, read as the server reads it: in UTF-16 units."""
    units = rendered.text.encode("utf-16-le")
    return [
        units[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le")
        for e in rendered.entities
        if e.type == kind
    ]


def shown(approval: Approval, language: str = "en") -> str:
    return card(approval, language)[0].text


def labels(approval: Approval, language: str = "en") -> list[list[str]]:
    keyboard = card(approval, language)[1]
    return [[button.text for button in row] for row in keyboard.inline_keyboard] if keyboard else []


# ── what is asked ──────────────────────────────────────────────────────────────────────────────────────


def test_an_open_question_says_all_that_a_person_must_weigh() -> None:
    approval = question()

    assert shown(approval) == (
        "⚠️ May I run this?\nrm -rf build\nWhy I ask:\n• deletes files\nThe model says:\nto build afresh\n"
        f"In /srv · asked by Alice · until {clock_time(approval.expires_at)} · #01234567"
    )


def test_the_command_stands_whole_in_a_pre_entity() -> None:
    assert covered(card(question(command="echo 😀 | tee x\ncat x"), "en")[0], "pre") == [
        "echo 😀 | tee x\ncat x"
    ]


def test_entities_count_in_utf_16_units() -> None:
    rendered = card(question(command="😀 rm", explanation="because 😀😀"), "en")[0]

    assert covered(rendered, "bold") == ["⚠️ May I run this?"]
    assert covered(rendered, "pre") == ["😀 rm"]
    assert covered(rendered, "blockquote") == ["because 😀😀"]


def test_the_models_words_are_marked_as_the_models() -> None:
    rendered = card(question(explanation="harmless, trust me"), "en")[0]

    assert "The model says:\nharmless, trust me" in rendered.text
    assert covered(rendered, "blockquote") == ["harmless, trust me"]


def test_a_model_that_said_nothing_is_not_quoted() -> None:
    assert "The model says" not in shown(question(explanation=""))


@pytest.mark.parametrize(
    "field", ["command", "explanation", "cwd", "asker_name", "reasons", "decided_name", "reason", "tool"]
)
def test_control_and_bidi_characters_are_made_visible(field: str) -> None:
    evil = "x\u202egpj.sh\x1b[2K"
    changes: dict[str, Any] = {field: (evil,) if field == "reasons" else evil}
    if field in ("decided_name", "reason"):
        changes = DECIDED | {"status": Status.DENIED} | changes

    text = shown(question(**changes), "en")

    assert "\u202e" not in text
    assert "\x1b" not in text


def test_a_call_that_is_no_command_names_its_tool() -> None:
    assert shown(question(tool="send_telegram")).startswith("⚠️ May I do this? (send_telegram)")


def test_an_open_question_can_be_approved_denied_or_denied_with_a_reason() -> None:
    first, second, *_ = labels(question())
    assert first == ["Approve", "Deny"]
    assert second[0] == "Deny and say why"


def test_a_card_that_cannot_show_the_whole_command_says_where_it_is() -> None:
    approval = question(command="x" * (MAX_COMMAND + 1))

    assert too_long(approval)
    assert "the whole text is in the file above" in shown(approval)


def test_a_card_that_shows_the_whole_command_needs_no_file() -> None:
    approval = question(command="x" * MAX_COMMAND)

    assert not too_long(approval)
    assert "x" * MAX_COMMAND in shown(approval)


# ── what became of it ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (Status.APPROVED, "✅ Approved by Alice, "),
        (Status.DENIED, "⛔ Denied by Alice, "),
        (Status.EXPIRED, "⌛ Expired, "),
        (Status.CANCELLED, "🚫 Closed, "),
    ],
)
def test_a_decided_card_says_verdict_who_and_when_and_keeps_the_command(status: Status, line: str) -> None:
    rendered = card(question(status=status, **DECIDED), "en")[0]

    assert rendered.text.startswith(line + clock_time(1_700_000_100.0)[:2])
    assert covered(rendered, "pre") == ["rm -rf build"]
    assert "#01234567" in rendered.text


def test_a_reason_stands_beside_the_verdict() -> None:
    line = shown(question(status=Status.DENIED, reason="not today", **DECIDED)).splitlines()[0]

    assert line.endswith(": not today")


def test_after_the_run_the_card_shows_how_it_ended() -> None:
    text = shown(question(status=Status.APPROVED, outcome="exit 0, 1.2 s", **DECIDED))

    assert "→ exit 0, 1.2 s" in text


@pytest.mark.parametrize("status", [Status.APPROVED, Status.DENIED, Status.CANCELLED])
def test_a_decided_card_has_no_buttons(status: Status) -> None:
    assert card(question(status=status, **DECIDED), "en")[1] is None


def test_an_expired_card_offers_to_ask_again() -> None:
    assert labels(question(status=Status.EXPIRED, **DECIDED)) == [["Ask again"]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_card_speaks_the_language_of_the_bot(language: str) -> None:
    assert say(language, "card_title") in shown(question(), language)
    assert labels(question(), language)[0][0] == say(language, "button_approve")


# ── limits ─────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150, deadline=None)
@given(
    command=ODD.map(lambda text: text * 60),
    reasons=st.lists(ODD.map(lambda text: text * 5), max_size=9).map(tuple),
    others=st.tuples(ODD, ODD, ODD, ODD, ODD, ODD),
    repeat=st.sampled_from([1, 10, 60]),
    status=st.sampled_from(list(Status)),
    language=st.sampled_from(LANGUAGES),
)
def test_a_card_fits_into_one_message_with_the_mark_of_a_repeat(
    command: str,
    reasons: tuple[str, ...],
    others: tuple[str, ...],
    repeat: int,
    status: Status,
    language: str,
) -> None:
    explanation, cwd, asker, decider, reason, outcome = (text * repeat for text in others)
    approval = question(
        command=command,
        reasons=reasons,
        explanation=explanation,
        cwd=cwd,
        asker_name=asker,
        tool=asker or "run_in_terminal",
        decided_name=decider,
        reason=reason,
        outcome=outcome,
        status=status,
    )

    rendered = marked(card(approval, language)[0], say(language, "maybe_repeat"))

    assert utf16_len(rendered.text) <= 4096
    assert all(e.offset + e.length <= utf16_len(rendered.text) for e in rendered.entities)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fullest_card_fits_into_one_message(language: str) -> None:
    long = "w" * 5000
    approval = question(
        command=long, reasons=(long,) * 9, explanation=long, cwd=long, asker_name=long, tool=long
    )

    rendered = marked(card(approval, language)[0], say(language, "maybe_repeat"))

    assert utf16_len(rendered.text) <= 4096


@pytest.mark.parametrize("status", [Status.PENDING, Status.EXPIRED])
def test_appr_long_callback_data_a_button_carries_a_short_id_and_nothing_else(status: Status) -> None:
    approval = question("Zx-_" * 4, status=status, tool="перевод", command="кому: всем " * 20)
    keyboard = card(approval, "pt")[1]
    assert keyboard is not None

    for row in keyboard.inline_keyboard:
        for button in row:
            data = str(button.callback_data)
            assert 1 <= len(data.encode()) <= 64
            assert set(data) <= set(string.ascii_letters + string.digits + "-_:")


# ── presses ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [Status.PENDING, Status.EXPIRED])
def test_every_button_of_a_card_is_understood_and_means_something_of_its_own(status: Status) -> None:
    keyboard = card(question(status=status), "en")[1]
    assert keyboard is not None
    buttons = [button for row in keyboard.inline_keyboard for button in row]
    presses = [read_press(str(button.callback_data)) for button in buttons]

    assert len({press.verb for press in presses if press and press.approval_id == "a1"}) == len(buttons)


@pytest.mark.parametrize("data", [None, "", "a", "a:x", "a:x:z", "b:x:y", "a:x:y:y", "approve"])
def test_what_is_no_button_of_a_card_is_none(data: str | None) -> None:
    assert read_press(data) is None


def test_a_press_names_the_question_and_what_to_do() -> None:
    assert read_press("a:AbC-_1:n") == Press("AbC-_1", Verb.DENY)


@given(text=st.text(), units=st.integers(2, 40))
def test_what_is_cut_fits_and_says_so(text: str, units: int) -> None:
    kept = cut(text, units)

    assert utf16_len(kept) <= units
    assert kept == text or (kept.endswith("…") and text.startswith(kept[:-1]))


# ── grants, second steps, undoings ─────────────────────────────────────────────────────────────────────

GRANTABLE: dict[str, Any] = {"grant_key": "k", "grant_files": ("/srv/deploy.sh",)}


def test_grants_are_offered_only_behind_more_with_the_exact_rule() -> None:
    approval = question(**GRANTABLE)

    text, keyboard = card(approval, "en", more=True)

    assert "A grant covers" not in shown(approval)
    assert "covers exactly this command in /srv, when Alice asks here" in text.text
    assert "when one of these changes: /srv/deploy.sh" in text.text
    assert keyboard is not None
    assert [row[0].text for row in keyboard.inline_keyboard] == [
        "this task",
        "15 minutes",
        "always, this exact command",
        "Back",
    ]


def test_what_may_not_be_granted_has_no_more() -> None:
    assert "More…" not in sum(labels(question()), [])
    assert card(question(), "en", more=True) == card(question(), "en")


def test_a_decided_card_shows_no_grants_whatever_was_pressed() -> None:
    approval = question(status=Status.DENIED, **GRANTABLE, **DECIDED)

    assert card(approval, "en", more=True) == card(approval, "en")


def test_a_code_is_shown_while_it_is_asked_and_only_then() -> None:
    code = Code(7, "Alice", "0042", 1_700_000_060.0)
    approval = question(second_step="restarts the machine", code=code)

    assert "Alice: to run it, write 0042 here" in shown(approval)
    assert "0042" not in shown(question(second_step="restarts the machine"))
    assert "Approving takes a code too: restarts the machine" in shown(
        question(second_step="restarts the machine")
    )
    assert "0042" not in shown(question(status=Status.APPROVED, code=code, **DECIDED))


def test_a_known_undoing_can_be_asked_for() -> None:
    approval = question(undo="ufw disable")
    keyboard = card(approval, "en", revert_after=120)[1]

    assert "Can be undone by: ufw disable" in shown(approval)
    assert keyboard is not None
    assert keyboard.inline_keyboard[-1][0].text == "Run, undo in 2 min unless kept"


@pytest.mark.parametrize(
    ("state", "line", "buttons"),
    [
        (Reverting.WAITING, "To be undone 5 min after it begins", []),
        (Reverting.ARMED, "unless you keep it", [["Keep it", "Undo now"]]),
        (Reverting.KEPT, "Kept by Alice", []),
        (Reverting.DISARMED, "Not undone: the command failed", []),
        (Reverting.UNDOING, "Being undone", []),
        (Reverting.UNDONE, "Undone: exit 0", []),
    ],
)
def test_the_card_says_how_the_undoing_stands(state: Reverting, line: str, buttons: list[list[str]]) -> None:
    revert = Revert(state, 300, 1_700_000_300.0, "Alice", "exit 0")
    approval = question(status=Status.APPROVED, undo="ufw disable", revert=revert, **DECIDED)

    assert line in shown(approval)
    assert labels(approval) == buttons


def test_a_persons_command_is_marked_as_the_persons() -> None:
    assert "Bob's own words, not the model's" in shown(question(changed_by="Bob", replaces="c1"))


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("state", [None, *Reverting])
def test_the_fullest_card_with_everything_still_fits(
    language: str, more: bool, state: Reverting | None
) -> None:
    long = "w" * 5000
    approval = question(
        command=long,
        reasons=(long,) * 9,
        explanation=long,
        cwd=long,
        asker_name=long,
        tool="run_in_terminal",
        changed_by=long,
        second_step=long,
        undo=long,
        grant_key="k",
        grant_files=(long,) * 3,
        outcome=long,
        code=Code(7, long, "0042", 1_700_000_060.0),
        revert=Revert(state, 300, 1_700_000_300.0, long, long) if state else None,
    )
    if state:
        approval = replace(approval, status=Status.APPROVED, reason=long, **DECIDED)

    rendered = marked(card(approval, language, "strict", more=more)[0], say(language, "maybe_repeat"))

    assert utf16_len(rendered.text) <= 4096


# ── what a call would do (issue 7) ─────────────────────────────────────────────────────────────────────

PAYING = (
    CardLine("Amount", "0.5 ETH"),
    CardLine("To", "0xAb😀", code=True),
    CardLine("", "said by the call"),
    CardLine("Moon phase", "full"),
)


def test_what_a_call_would_do_stands_in_place_of_its_arguments() -> None:
    approval = question(
        tool="transfer_wallet", command='{"a": 1}', lines=PAYING, warnings=("a contract",), explanation=""
    )

    rendered = card(approval, "en")[0]

    assert rendered.text.startswith(
        "⚠️ May I do this? (transfer_wallet)\nAmount: 0.5 ETH\nTo: 0xAb😀\nsaid by the call\n"
        "Moon phase: full\n⚠️ a contract\nWhy I ask:\n• deletes files\n"
    )
    assert '{"a": 1}' not in rendered.text
    assert covered(rendered, "code") == ["0xAb😀"]
    assert covered(rendered, "blockquote") == ["said by the call"]


def test_labels_that_tools_use_are_said_in_the_owners_language() -> None:
    text = shown(question(lines=PAYING), "pt")

    assert "Valor: 0.5 ETH\nPara: 0xAb😀\n" in text
    assert "Moon phase: full" in text


def test_a_decided_card_keeps_what_was_approved_without_the_warnings() -> None:
    text = shown(question(lines=PAYING, warnings=("a contract",), status=Status.APPROVED, **DECIDED))

    assert "To: 0xAb😀" in text
    assert "a contract" not in text


def test_lines_too_long_for_a_card_go_into_a_file_whole() -> None:
    lines = (CardLine("", "x" * MAX_COMMAND), CardLine("To", "0xA", code=True))
    approval = question(lines=lines)

    assert too_long(approval)
    assert not too_long(question(lines=PAYING, command="x" * 5000))
    assert whole(approval).endswith("x\nTo: 0xA")
    assert "the whole text is in the file above" in shown(approval)


def test_what_is_invisible_in_a_line_is_shown() -> None:
    assert "To: 0x⟨U+202E⟩" in shown(question(lines=(CardLine("To", "0x\u202e", code=True),)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fullest_card_of_lines_fits_into_one_message(language: str) -> None:
    long = "w" * 5000
    approval = question(
        lines=tuple(CardLine(long, f"{n}" * 300) for n in range(20)),
        warnings=(long,) * 9,
        reasons=(long,) * 9,
        explanation=long,
        cwd=long,
        asker_name=long,
        tool=long,
        second_step=long,
        code=Code(7, long, "0042", 1_700_000_060.0),
        outcome=long,
    )

    rendered = marked(card(approval, language)[0], say(language, "maybe_repeat"))

    assert utf16_len(rendered.text) <= 4096
    assert all(e.offset + e.length <= utf16_len(rendered.text) for e in rendered.entities)
