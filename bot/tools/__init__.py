"""Things the model can do. One file a tool; the composition root puts them in one `Tools`."""

from bot.tools.base import Tool, ToolContext, ToolOutcome, Tools, tool
from bot.tools.truncate import truncate

__all__ = ["Tool", "ToolContext", "ToolOutcome", "Tools", "tool", "truncate"]
