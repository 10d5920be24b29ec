"""Tool calls written as text: parse, strip, stream, describe. Pure: no I/O, no clock, no settings."""

from typing import TYPE_CHECKING

from bot.protocol.correction import MAX_ATTEMPTS, correction
from bot.protocol.describe import describe
from bot.protocol.dialects import FAMILIES
from bot.protocol.envelope import envelope
from bot.protocol.events import Call, Event, Hidden, Problem, Text
from bot.protocol.neutral import neutralise
from bot.protocol.report import Report, as_json, as_text, report
from bot.protocol.strip import strip

if TYPE_CHECKING:
    from bot.protocol.parser import ToolCallParser
else:
    # The parser compiles some sixty patterns; who only sends results and reads native calls does without.
    def __getattr__(name):
        if name != "ToolCallParser":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from bot.protocol.parser import ToolCallParser

        return ToolCallParser


__all__ = [
    "FAMILIES",
    "MAX_ATTEMPTS",
    "Call",
    "Event",
    "Hidden",
    "Problem",
    "Report",
    "Text",
    "ToolCallParser",
    "as_json",
    "as_text",
    "correction",
    "describe",
    "envelope",
    "neutralise",
    "report",
    "strip",
]
