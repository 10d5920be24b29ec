"""What goes wrong with models, seen from the transcript (L6, P10, R7)."""

import pytest

from bot.agent.guards import (
    corrections_in_a_row,
    count_notices,
    promises_without_doing,
    repeats_itself,
    same_failures,
    signature,
)
from bot.messages import AssistantMessage, Message, Notice, ToolCall, ToolResult, UserMessage


def call(command: str, **more: object) -> ToolCall:
    return ToolCall("run_in_terminal", {"command": command, **more})


def step(*commands: str, fails: bool = False) -> list[Message]:
    calls = tuple(call(command) for command in commands)
    code = "ExitCode:1" if fails else ""
    return [AssistantMessage("", calls), *(ToolResult(c.id, "", is_error=fails, code=code) for c in calls)]


USER = UserMessage("do it")


@pytest.mark.parametrize(
    "text",
    [
        "I'll restart it.",
        "I’ll now check the logs.",
        "Sure!\nLet me run that command.",
        "I will look into the config.",
        "I'm going to install nginx.",
        "Running it now…",
        "Gue cek dulu ya.",
        "Saya akan jalankan sekarang",
        "Vou reiniciar o nginx.",
        "Executando isso agora.",
    ],
)
def test_a_promise_without_a_call_is_noticed(text: str) -> None:
    assert promises_without_doing(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The service is running.",
        "I checked the logs: all well.",
        "Let me know if you need more.",
        "Shall I restart it? I'll check first, ok?",
        "I'll check the logs.\nDone: nothing there.",
        "Saya sudah cek, aman.",
        "Verifiquei tudo.",
        "Long report. " * 30 + "I'll run it.",
    ],
)
def test_what_promises_nothing_is_left_alone(text: str) -> None:
    assert not promises_without_doing(text)


def test_notices_are_counted_by_kind_within_the_turn() -> None:
    transcript: list[Message] = [USER, Notice("a", "loop"), USER, Notice("b", "loop"), Notice("c", "cap")]

    assert (count_notices(transcript, "loop"), count_notices(transcript, "empty")) == (1, 0)


def test_corrections_in_a_row_are_counted() -> None:
    correction = Notice("broken", "correction")
    broken = AssistantMessage("<tool_use>", follow_up=correction)

    assert corrections_in_a_row([USER, broken, correction, broken, correction]) == 2


def test_a_well_formed_reply_begins_the_count_afresh() -> None:
    correction = Notice("broken", "correction")
    broken = AssistantMessage("<tool_use>", follow_up=correction)

    assert corrections_in_a_row([USER, broken, correction, *step("ls"), broken, correction]) == 1


def test_corrections_of_an_earlier_turn_do_not_count() -> None:
    correction = Notice("broken", "correction")

    assert corrections_in_a_row([USER, AssistantMessage("x", follow_up=correction), correction, USER]) == 0


def test_the_call_that_failed_most_is_named_with_its_count() -> None:
    transcript = [USER, *step("make", fails=True), *step("ls", fails=True), *step("make", fails=True)]

    times, worst = same_failures(transcript)

    assert times == 2
    assert worst is not None
    assert worst.arguments == {"command": "make"}


def test_calls_that_went_well_are_no_failures() -> None:
    assert same_failures([USER, *step("ls"), *step("ls")]) == (0, None)


def test_failures_of_an_earlier_turn_do_not_count() -> None:
    assert same_failures([USER, *step("make", fails=True), USER]) == (0, None)


def test_three_times_the_same_calls_is_repeating() -> None:
    assert repeats_itself([USER, *step("ls", "df"), *step("ls", "df"), *step("ls", "df")])


@pytest.mark.parametrize(
    "steps",
    [
        [step("ls"), step("ls")],
        [step("ls"), step("df"), step("ls")],
        [step("ls", "df"), step("df", "ls"), step("ls", "df")],
        [step(), step(), step()],
    ],
    ids=["twice", "another between", "another order", "no calls"],
)
def test_less_than_that_is_not(steps: list[list[Message]]) -> None:
    assert not repeats_itself([USER, *(message for part in steps for message in part)])


def test_repeating_over_two_turns_is_not() -> None:
    assert not repeats_itself([USER, *step("ls"), *step("ls"), USER, *step("ls")])


def test_labels_of_a_shell_call_do_not_make_another_call() -> None:
    assert signature(call("ls", risk="low", explanation="to look")) == signature(call("ls", risk="high"))


@pytest.mark.parametrize(
    "other", [call("ls "), call("ls", timeout=5), ToolCall("web_search", {"command": "ls"})]
)
def test_what_would_do_something_else_is_another_call(other: ToolCall) -> None:
    assert signature(call("ls")) != signature(other)


def test_the_order_of_arguments_does_not_matter() -> None:
    assert signature(ToolCall("t", {"a": 1, "b": 2})) == signature(ToolCall("t", {"b": 2, "a": 1}))
