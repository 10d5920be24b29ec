"""A tool is a typed async function; its signature is its schema."""

import asyncio
import inspect
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from bot.errors import ToolError
from bot.messages import Conversation, Risk, ToolCall, ToolDefinition
from bot.tools.card import CardDetails, Preview
from bot.tools.codes import code_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where and for whom a call runs; a tool that wants it takes it as its first parameter.

    Attributes:
        cwd: Absolute folder the conversation is in; a tool moves it by `ToolOutcome.cwd`.
        work_dir: Absolute folder every conversation starts in.
        output_dir: Absolute folder for whole outputs too long to keep in memory. Exists.
        progress: Takes the last line of output, at most about twice a second. Must return at once.
        timeout: Seconds a call may take unless it asks for another limit.
        approved: A person said yes to this very call; a command that nobody was asked about runs confined.
    """

    conversation: Conversation
    call_id: str
    cwd: Path
    work_dir: Path
    output_dir: Path
    progress: Callable[[str], None] = field(default=lambda line: None)
    timeout: float = 120.0
    approved: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call came to, before redaction and before it is cut to what the model may read.

    Attributes:
        text: May be empty (no output) and may be long (tens of thousands of characters).
        code: One of requirement F1's; empty unless `is_error`.
        exit_code: Of a command that ran to its end.
        duration: Seconds the call ran; None when it never ran.
        truncated: Whether `text` already lacks a part of the output.
        file: Absolute path of the whole output, or as much of it as is kept; empty when `text` is all.
            Not redacted.
        cwd: Absolute folder the conversation is in from now on; None when it did not move.
    """

    text: str
    is_error: bool = False
    code: str = ""
    exit_code: int | None = None
    duration: float | None = None
    truncated: bool = False
    file: str = ""
    cwd: Path | None = None


ToolFunction = Callable[..., Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing the model may ask for.

    Attributes:
        risk_floor: No call of this tool counts as less.
        read_only: Changes nothing and may run beside other read-only calls.
        keeps_time: Ends by itself within the call's own limit, so nothing else has to stop it.
    """

    definition: ToolDefinition
    risk_floor: Risk
    read_only: bool
    keeps_time: bool
    arguments: type[BaseModel]
    function: ToolFunction
    takes_context: bool

    @property
    def name(self) -> str:
        return self.definition.name

    def read(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Return the declared parameters with their values, defaults filled in.

        Types are strict: `"5"` is no integer. A misfit is the model's to mend, not ours to guess.

        Raises:
            ToolError: `InvalidArgs`, naming every path that does not fit.
        """
        try:
            # Strictness means JSON's types, so that a Decimal may still come as a string.
            read = self.arguments.model_validate_json(json.dumps(arguments, default=str), strict=True)
        except ValidationError as error:
            raise ToolError("InvalidArgs", f"{self.name}: {_paths(error)}") from error
        except (ValueError, RecursionError) as error:
            raise ToolError("InvalidArgs", f"{self.name}: $: not a JSON object") from error
        return {name: getattr(read, name) for name in self.arguments.model_fields}


def tool(
    *, risk_floor: Risk, read_only: bool = False, keeps_time: bool = False
) -> Callable[[ToolFunction], Tool]:
    """Turn an async function into a Tool.

    The name, docstring, parameter types, `Annotated[type, "description"]` texts and defaults all come from
    the function, so there is nothing to keep in step. A first parameter of type `ToolContext` is not the
    model's. The function returns a string, a `ToolOutcome`, bytes (kept as a file) or anything JSON can hold.
    """

    def decorate(function: ToolFunction) -> Tool:
        name = getattr(function, "__name__", type(function).__name__)
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        takes_context = False
        for parameter in inspect.signature(function).parameters.values():
            hint = hints[parameter.name]
            if hint is ToolContext:
                takes_context = True
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (_described(hint), default)
        config = ConfigDict(extra="forbid", allow_inf_nan=False)
        arguments = create_model(name, __config__=config, **fields)
        schema = _plain(arguments.model_json_schema())
        schema = {"type": "object", "properties": {}, "required": [], **schema}
        definition = ToolDefinition(name, inspect.getdoc(function) or "", schema)
        return Tool(definition, risk_floor, read_only, keeps_time, arguments, function, takes_context)

    return decorate


class Tools(Mapping[str, Tool]):
    """The tools there are, by name.

    Args:
        previews: By tool name, for tools whose card says what a call would do.
    """

    def __init__(self, tools: Iterable[Tool], previews: Mapping[str, Preview] | None = None) -> None:
        self._previews = dict(previews or {})
        tools = sorted(tools, key=lambda tool: tool.name)
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) < len(tools):
            raise ValueError(f"two tools have one name: {[tool.name for tool in tools]!r}")
        self.definitions = tuple(tool.definition for tool in self._tools.values())
        """In the order of their names, the same on every request: a provider's cache depends on it."""

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def check(self, call: ToolCall) -> ToolOutcome | None:
        """Return why the call could never run, without running it; None when it could.

        Nobody should be asked to approve what cannot run.
        """
        try:
            self._read(call)
        except ToolError as error:
            return ToolOutcome(str(error), is_error=True, code=code_of(error))
        return None

    async def preview(
        self, call: ToolCall, conversation: Conversation, cwd: Path, *, timeout: float
    ) -> CardDetails | ToolOutcome | None:
        """Find out what a valid call would do; see `bot.tools.card.Preview`.

        Returns:
            What the card must say, or why the call can't be made; None when its arguments say it all.
        """
        preview = self._previews.get(call.name)
        if preview is None:
            return None
        try:
            async with asyncio.timeout(timeout) as limit:
                return await preview(call, conversation, cwd)
        except Exception as error:
            if limit.expired() and isinstance(error, TimeoutError):
                text = f"{call.name}: what it would do was not found out within {timeout:g} seconds"
                return ToolOutcome(text, is_error=True, code="Timeout")
            return _failure(call.name, error)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        """Run one call and return what came of it, whatever came of it.

        Raises:
            asyncio.CancelledError: The call was cancelled; everything it started has ended.
        """
        started = time.monotonic()
        try:
            tool, arguments = self._read(call)
        except ToolError as error:
            return ToolOutcome(str(error), is_error=True, code=code_of(error))
        try:
            positional = (context,) if tool.takes_context else ()
            async with asyncio.timeout(None if tool.keeps_time else context.timeout) as limit:
                outcome = _outcome(await tool.function(*positional, **arguments), context)
        except Exception as error:
            if limit.expired() and isinstance(error, TimeoutError):
                text = f"{call.name}: no result within {context.timeout:g} seconds"
                outcome = ToolOutcome(text, is_error=True, code="Timeout")
            else:
                outcome = _failure(call.name, error)
        except BaseException as error:
            if code_of(error) != "PanicError":
                raise
            outcome = _failure(call.name, error)
        return replace(outcome, duration=time.monotonic() - started)

    def _read(self, call: ToolCall) -> tuple[Tool, dict[str, Any]]:
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise ToolError("UnknownTool", f"no tool {call.name!r}; there are: {names}")
        if call.problem:
            raise ToolError("InvalidArgs", f"{call.name}: {call.problem}")
        return tool, tool.read(call.arguments)


def _outcome(result: object, context: ToolContext) -> ToolOutcome:
    match result:
        case ToolOutcome():
            return result
        case str():
            return ToolOutcome(result)
        case None:
            return ToolOutcome("")
        case bytes():
            path = context.output_dir / f"{context.call_id}.bin"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(result)
            return ToolOutcome(
                f"binary output, {len(result)} bytes, saved to {path}", truncated=True, file=str(path)
            )
        case BaseModel():
            return ToolOutcome(result.model_dump_json())
    return ToolOutcome(json.dumps(result, ensure_ascii=False, default=str))


def _failure(name: str, error: BaseException) -> ToolOutcome:
    code = code_of(error)
    if isinstance(error, ToolError):
        text = str(error)
    elif isinstance(error, OSError) and error.strerror:
        text = f"{name}: {error.strerror}" + (f": {error.filename!r}" if error.filename else "")
    else:
        # What an unforeseen error says is for the log: it may hold an address with a key in it.
        log.error("tool %s failed", name, exc_info=error)
        text = f"{name}: failed inside ({type(error).__name__}); not the arguments' fault as far as known"
    return ToolOutcome(text, is_error=True, code=code)


def _paths(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
        problems.append(f"{path}: {problem['msg']}")
    return "; ".join(problems)


def _described(hint: object) -> object:
    if get_origin(hint) is not Annotated:
        return hint
    base, *notes = get_args(hint)
    notes = [Field(description=note) if isinstance(note, str) else note for note in notes]
    return Annotated[(base, *notes)]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop pydantic's titles and write `X | None = None` as an optional X: models copy what they see."""
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            value = {name: _plain(part) for name, part in value.items()}
        elif isinstance(value, dict):
            value = _plain(value)
        elif isinstance(value, list):
            value = [_plain(part) if isinstance(part, dict) else part for part in value]
        plain[key] = value
    if plain.get("default", ...) is None and {"type": "null"} in plain.get("anyOf", []):
        others = [part for part in plain["anyOf"] if part != {"type": "null"}]
        if len(others) == 1:
            del plain["anyOf"], plain["default"]
            plain = {**others[0], **plain}
    return plain
