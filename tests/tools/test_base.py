"""X1-X5: the signature is the schema, and a call comes to exactly one outcome whatever happens inside it."""

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

import pytest

from bot.errors import ToolError
from bot.messages import Risk, ToolCall
from bot.tools import Tool, ToolContext, ToolOutcome, Tools, tool
from tests.tools.conftest import MakeContext
from tests.tools.processes import contents


@tool(risk_floor=Risk.MEDIUM)
async def transfer(
    context: ToolContext,
    to: Annotated[str, "Who gets it."],
    amount: Annotated[Decimal, "How much, as a string."],
    kind: Annotated[Literal["gift", "loan"], "Why."] = "gift",
    days: Annotated[int | None, "Until when."] = None,
    tags: Annotated[list[str], "Words."] = [],  # noqa: B006
) -> object:
    """Give something away."""
    return {
        "to": to,
        "amount": str(amount),
        "kind": kind,
        "days": days,
        "tags": tags,
        "here": context.call_id,
    }


def make(result: object) -> Tool:
    @tool(risk_floor=Risk.LOW)
    async def answer() -> object:
        """Answer."""
        if isinstance(result, BaseException):
            raise result
        return result

    return answer


async def outcome_of(result: object, context: ToolContext) -> ToolOutcome:
    return await Tools([make(result)]).run(ToolCall("answer", {}), context)


def test_the_signature_is_the_schema() -> None:
    assert transfer.definition.name == "transfer"
    assert transfer.definition.description == "Give something away."
    assert transfer.definition.parameters["required"] == ["to", "amount"]
    assert transfer.definition.parameters["additionalProperties"] is False
    properties = transfer.definition.parameters["properties"]
    assert isinstance(properties, Mapping)
    assert list(properties) == ["to", "amount", "kind", "days", "tags"]
    assert properties["to"] == {"type": "string", "description": "Who gets it."}
    assert properties["days"] == {"type": "integer", "description": "Until when."}
    assert properties["kind"]["enum"] == ["gift", "loan"]
    assert "title" not in json.dumps(transfer.definition.parameters)


def test_a_parameter_may_be_called_title() -> None:
    @tool(risk_floor=Risk.LOW)
    async def post(title: Annotated[str, "The heading."]) -> str:
        """Post."""
        return title

    assert post.definition.parameters["properties"] == {
        "title": {"type": "string", "description": "The heading."}
    }


def test_definitions_are_in_the_order_of_their_names() -> None:
    tools = Tools([transfer, make("x")])

    assert [definition.name for definition in tools.definitions] == ["answer", "transfer"]


def test_two_tools_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="answer"):
        Tools([make("a"), make("b")])


async def test_arguments_arrive_by_name_with_defaults(context: ToolContext) -> None:
    call = ToolCall("transfer", {"to": "Ada", "amount": "1.50"})

    outcome = await Tools([transfer]).run(call, context)

    assert json.loads(outcome.text) == {
        "to": "Ada",
        "amount": "1.50",
        "kind": "gift",
        "days": None,
        "tags": [],
        "here": "c1",
    }
    assert not outcome.is_error
    assert outcome.duration is not None


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({}, ["$.to", "$.amount"]),
        ({"to": 5, "amount": "1"}, ["$.to"]),
        ({"to": "a", "amount": "1", "days": "3"}, ["$.days"]),
        ({"to": "a", "amount": "1", "days": True}, ["$.days"]),
        ({"to": "a", "amount": "1", "kind": "theft"}, ["$.kind"]),
        ({"to": "a", "amount": "1", "tags": ["x", 1]}, ["$.tags[1]"]),
        ({"to": "a", "amount": "1", "context": {}}, ["$.context"]),
        ({"to": "a", "amount": "1", "self": 1, "kwargs": {}}, ["$.self", "$.kwargs"]),
        ({"to": "a", "amount": float("nan")}, ["$.amount"]),
        ({"to": "\ud800", "amount": "1"}, ["$"]),
    ],
)
async def test_misfits_are_named_by_path_and_nothing_runs(
    context: ToolContext, arguments: dict[str, object], paths: list[str]
) -> None:
    call = ToolCall("transfer", arguments)

    outcome = await Tools([transfer]).run(call, context)

    assert (outcome.is_error, outcome.code, outcome.duration) == (True, "InvalidArgs", None)
    assert all(f"{path}: " in outcome.text for path in paths)
    assert Tools([transfer]).check(call) == outcome


async def test_an_unknown_tool_is_answered_with_the_names(context: ToolContext) -> None:
    tools = Tools([transfer, make("x")])

    outcome = await tools.run(ToolCall("trasnfer", {}), context)

    assert outcome.code == "UnknownTool"
    assert "answer, transfer" in outcome.text


async def test_a_call_with_a_problem_never_runs(context: ToolContext) -> None:
    outcome = await Tools([make("ran")]).run(ToolCall("answer", {}, problem="no JSON at 3"), context)

    assert (outcome.code, outcome.text) == ("InvalidArgs", "answer: no JSON at 3")


def test_a_call_that_could_run_passes_the_check() -> None:
    assert Tools([make("x")]).check(ToolCall("answer", {})) is None


@pytest.mark.parametrize(
    ("result", "text"),
    [("a", "a"), (None, ""), ({"é": [1, None]}, '{"é": [1, null]}'), ([], "[]"), (False, "false")],
)
async def test_whatever_a_tool_returns_becomes_text(context: ToolContext, result: object, text: str) -> None:
    assert (await outcome_of(result, context)).text == text


async def test_bytes_become_a_file(context: ToolContext) -> None:
    outcome = await outcome_of(b"\0\1", context)

    assert contents(outcome.file) == b"\0\1"
    assert outcome.text == f"binary output, 2 bytes, saved to {outcome.file}"


async def test_a_tool_error_is_told_as_it_is(context: ToolContext) -> None:
    outcome = await outcome_of(ToolError("Denied", "chat 3 is not on the list"), context)

    assert (outcome.is_error, outcome.code, outcome.text) == (True, "Denied", "chat 3 is not on the list")
    assert outcome.duration is not None


async def test_a_system_error_says_what_and_where(context: ToolContext) -> None:
    outcome = await outcome_of(FileNotFoundError(2, "No such file or directory", "/x"), context)

    assert (outcome.code, outcome.text) == ("ENOENT", "answer: No such file or directory: '/x'")


async def test_our_own_fault_goes_to_the_log_and_not_to_the_model(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await outcome_of(KeyError("sk-secret"), context)

    assert (outcome.is_error, outcome.code) == (True, "UnknownError")
    assert "sk-secret" not in outcome.text
    assert "sk-secret" in caplog.text


async def test_a_panic_of_an_extension_is_an_error_like_any_other(context: ToolContext) -> None:
    panic = type("PanicException", (BaseException,), {})

    assert (await outcome_of(panic("boom"), context)).code == "PanicError"


async def test_a_call_that_takes_too_long_is_ended(make_context: MakeContext) -> None:
    @tool(risk_floor=Risk.LOW)
    async def dawdle() -> None:
        """Take long."""
        await asyncio.sleep(30)

    outcome = await Tools([dawdle]).run(ToolCall("dawdle", {}), make_context(timeout=0.05))

    assert (outcome.code, outcome.text) == ("Timeout", "dawdle: no result within 0.05 seconds")


async def test_a_timeout_inside_a_tool_is_not_the_calls_own(context: ToolContext) -> None:
    outcome = await outcome_of(TimeoutError(), context)

    assert outcome.code == "Timeout"
    assert "10 seconds" not in outcome.text


async def test_cancelling_reaches_the_tool_and_the_caller(context: ToolContext) -> None:
    cancelled = asyncio.Event()

    @tool(risk_floor=Risk.LOW)
    async def dawdle() -> None:
        """Take long."""
        try:
            await asyncio.sleep(30)
        finally:
            cancelled.set()

    task = asyncio.create_task(Tools([dawdle]).run(ToolCall("dawdle", {}), context))
    await asyncio.sleep(0.01)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
