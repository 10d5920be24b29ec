"""Which tool a model means: prefixes it is known to add are dropped, nothing is ever guessed."""

import re
from collections.abc import Iterable, Mapping, Sequence

from bot.messages import ToolDefinition

PREFIX = re.compile(r"(?:functions|default_api|tools?|multi_tool_use)\.", re.IGNORECASE)
NUMBER = re.compile(r":\d+$")


def plain_name(written: str) -> str:
    """Drop what models wrap a name in: blanks, `functions.`, Kimi's `:0`, a trailing `<|channel|>…`."""
    name = written.strip().partition("<|")[0].strip()
    name = NUMBER.sub("", name)
    while found := PREFIX.match(name):
        name = name[found.end() :]
    return name


class Names:
    """The tools of one conversation, found by any spelling that differs only in case, `-` and `_`."""

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        self.tools: dict[str, ToolDefinition] = {tool.name: tool for tool in tools}
        self._folded: dict[str, list[str]] = {}
        for name in self.tools:
            self._folded.setdefault(fold(name), []).append(name)

    def find(self, written: str) -> str | None:
        """Return the tool's own name, or None when no tool or more than one has that spelling."""
        for name in (written, plain_name(written)):
            if name in self.tools:
                return name
        found = self._folded.get(fold(plain_name(written)), [])
        return found[0] if len(found) == 1 else None

    def properties(self, name: str | None) -> Mapping[str, object]:
        """Return the JSON Schema of each argument of a tool; empty for an unknown one."""
        tool = self.tools.get(name or "")
        found = tool.parameters.get("properties") if tool else None
        return found if isinstance(found, Mapping) else {}

    def required(self, name: str) -> Sequence[object]:
        """Return the names of the arguments a tool can't do without."""
        found = self.tools[name].parameters.get("required")
        return found if isinstance(found, Sequence) else ()


def fold(name: str) -> str:
    """Return a name as it is compared."""
    return name.casefold().replace("-", "_")
