"""The agent: the loop, the prompt, and what fits the window."""

from bot.agent.loop import Agent, Limits
from bot.agent.outcomes import Event, Outcome, Paused, Replied, Stopped, ToolFinished, ToolStarted, Typing

__all__ = [
    "Agent",
    "Event",
    "Limits",
    "Outcome",
    "Paused",
    "Replied",
    "Stopped",
    "ToolFinished",
    "ToolStarted",
    "Typing",
]
