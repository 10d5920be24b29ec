"""A stream of text with tool calls in it, taken apart as it comes."""

from collections.abc import Iterable, Iterator, Sequence

from bot.llm.base import TextDelta
from bot.messages import ToolCall, ToolDefinition
from bot.protocol import Call, Event, Problem, Text, ToolCallParser


class ParsedText:
    """Feeds one reply through the parser and keeps what comes out.

    Attributes:
        text: What was released, joined; what deltas add up to.
        calls: In the order written.
        problem: The first one; calls before it stand.
    """

    def __init__(
        self,
        tools: Sequence[ToolDefinition],
        *,
        prior_tool_results: Sequence[str] = (),
        families: Iterable[str] | None = None,
    ) -> None:
        self._parser = ToolCallParser(tools, prior_tool_results=prior_tool_results, families=families)
        self._pieces: list[str] = []
        self.calls: list[ToolCall] = []
        self.problem: Problem | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def feed(self, text: str) -> Iterator[TextDelta]:
        """Take a piece of the reply; yield what may be shown of it now."""
        yield from self._read(self._parser.feed(text))

    def finish(self, *, cut: bool) -> Iterator[TextDelta]:
        """Take the end of the reply; yield what was held back and may be shown after all."""
        yield from self._read(self._parser.finish("length" if cut else "stop"))

    def _read(self, events: Iterable[Event]) -> Iterator[TextDelta]:
        for event in events:
            match event:
                case Text(text):
                    # What a model writes after a call is a guess at its result (requirement P12).
                    if text and not self.calls and self.problem is None:
                        self._pieces.append(text)
                        yield TextDelta(text)
                case Call(name, arguments, repaired):
                    self.calls.append(ToolCall(name, arguments, repaired=repaired))
                case Problem():
                    self.problem = self.problem or event
