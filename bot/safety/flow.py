"""A stream of text between two programs, as far as it is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.safety.words import ANY


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known of a stream of text between two programs.

    Attributes:
        kind: `none`, `null`, `pipe`, `file` or `text`.
        line: One line of it, as a word with holes.
        text: All of it, when `kind` is `text`.
        taints: `network`, `decoded`, `data` (content of local files), `secret`.
        safe: Whether it can only hold what the system counts (sizes, times, load): never text that
            someone else wrote.
    """

    kind: str = "none"
    line: str = ANY
    text: str = ANY
    taints: frozenset[str] = frozenset()
    safe: bool = False


NOTHING = Flow()


def join(flows: Sequence[Flow]) -> Flow:
    """Return what several programs print one after the other."""
    if len(flows) == 1:
        return flows[0]
    if not flows:
        return NOTHING
    lines = {flow.line for flow in flows}
    return Flow(
        "pipe",
        line=lines.pop() if len(lines) == 1 else ANY,
        text=ANY,
        taints=frozenset().union(*(flow.taints for flow in flows)),
        safe=all(flow.safe for flow in flows),
    )
