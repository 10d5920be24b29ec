"""Which call a JSON value means: the spellings models use for the name and for the arguments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.protocol.json_reader import UnreadableError, read
from bot.protocol.names import Names

NAME_KEYS = ("name", "tool", "tool_name", "function", "action", "recipient_name", "function_name")
ARGUMENT_KEYS = ("arguments", "parameters", "input", "args", "params", "action_input")
LIST_KEYS = ("tool_calls", "tool_uses")
IGNORED = frozenset(("id", "type", "index", "call_id", "tool_call_id"))


class RefusedError(Exception):
    """A value that is no call that can run.

    Attributes:
        code: `malformed` or `unknown`.
        reason: A stable word.
        tool: What the model wrote as a name.
    """

    def __init__(self, code: str, reason: str, message: str, tool: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.tool = tool


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool's own name and its arguments."""

    name: str
    arguments: Mapping[str, object]
    repaired: bool = False


def known(names: Names, written: str) -> str:
    """Return the tool's own name.

    Raises:
        RefusedError: There is no such tool.
    """
    if not written.strip():
        raise RefusedError("malformed", "no_name", "the call has no tool name")
    found = names.find(written)
    if found is None:
        listed = ", ".join(sorted(names.tools)) or "none"
        raise RefusedError(
            "unknown", "unknown_tool", f"there is no tool {written[:60]!r}; the tools are: {listed}", written
        )
    return found


def calls_in(value: object, names: Names, *, depth: int = 0) -> Iterator[Asked]:
    """Yield the calls of a value in order; an element is looked at only when the one before was taken.

    Raises:
        RefusedError: The next element is no call that can run.
    """
    match value:
        case list(items):
            if not items and depth == 0:
                raise RefusedError("malformed", "no_name", "the list holds no call")
            for item in items:
                if not isinstance(item, dict):
                    raise RefusedError("malformed", "not_a_call", f"not a call but {kind(item)} in the list")
                yield from calls_in(item, names, depth=depth + 1)
        case dict(call):
            for key in LIST_KEYS:
                if isinstance(call.get(key), list) and not written_name(call):
                    yield from calls_in(call[key], names, depth=depth + 1)
                    return
            yield one_call(call, names)
        case _:
            raise RefusedError("malformed", "not_a_call", f"a call is a JSON object, not {kind(value)}")


def one_call(call: Mapping[str, object], names: Names) -> Asked:
    """Return the call an object means.

    Raises:
        RefusedError: It has no name, an unknown one, or no arguments object.
    """
    nested = call.get("function")
    if isinstance(nested, dict) and written_name(nested):
        return one_call(nested, names)
    if (only := single(call)) and names.find(only[0]) and isinstance(only[1], dict):
        return Asked(known(names, only[0]), only[1])
    key = next((key for key in NAME_KEYS if key in call), None)
    if key is None:
        raise RefusedError("malformed", "no_name", 'the call has no "name"')
    written = call[key]
    if not isinstance(written, str):
        raise RefusedError("malformed", "no_name", f'"{key}" must be a string, not {kind(written)}')
    name = known(names, written)
    given = [key for key in ARGUMENT_KEYS if key in call]
    if len(given) > 1:
        raise RefusedError("malformed", "two_arguments", f"both {given[0]!r} and {given[1]!r} given", name)
    if not given:
        extra = [other for other in call if other != key and other not in IGNORED]
        if extra:
            raise RefusedError("malformed", "no_arguments", f'{extra[0]!r} belongs in "arguments"', name)
        return Asked(name, {})
    arguments, repaired = decoded(call[given[0]], name, names)
    return Asked(name, arguments, repaired)


def decoded(value: object, name: str, names: Names) -> tuple[Mapping[str, object], bool]:
    """Return an arguments object, also from JSON text encoded up to twice; and whether it was mended.

    Raises:
        RefusedError: It is no object. Arguments that can't be read never become `{}`.
    """
    repaired = False
    for _ in range(3):
        if isinstance(value, dict):
            return value, repaired
        if value is None or value == "":
            if names.required(name):
                raise RefusedError("malformed", "arguments", '"arguments" is empty', name)
            return {}, repaired
        if not isinstance(value, str):
            break
        try:
            reading = read(value.strip())
        except UnreadableError as error:
            raise RefusedError(
                "malformed", error.reason, f'"arguments" can\'t be read: {error}', name
            ) from None
        value = reading.value
        repaired = repaired or reading.repaired
    raise RefusedError("malformed", "arguments", f'"arguments" must be an object, not {kind(value)}', name)


def call_shaped(value: object) -> bool:
    """Tell whether an untagged value may be meant as calls at all: name, arguments, no other key."""
    match value:
        case list(items):
            return bool(items) and all(isinstance(item, dict) and call_shaped(item) for item in items)
        case dict(call):
            for key in LIST_KEYS:
                if isinstance(call.get(key), list):
                    return call_shaped(call[key])
            nested = call.get("function")
            if isinstance(nested, dict):
                return call_shaped(nested)
            allowed = (*NAME_KEYS, *ARGUMENT_KEYS, *IGNORED)
            return (
                bool(written_name(call))
                and all(key in allowed for key in call)
                and any(isinstance(call.get(key), dict | str) for key in ARGUMENT_KEYS)
            )
        case _:
            return False


def written_name(call: Mapping[str, object]) -> str:
    """Return what a call object gives as its name; empty if it gives none."""
    for key in NAME_KEYS:
        value = call.get(key)
        if isinstance(value, str):
            return value
    return ""


def single(call: Mapping[str, object]) -> tuple[str, object] | None:
    """Return the only entry of an object that has one."""
    return next(iter(call.items())) if len(call) == 1 else None


def kind(value: object) -> str:
    """Return what JSON calls a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
