"""The shell, as a tool."""

import re
from signal import Signals
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from bot.errors import ToolError
from bot.messages import Risk
from bot.tools.base import Tool, ToolContext, ToolOutcome, tool
from bot.tools.codes import signal_code
from bot.tools.process import Commands, Finished

LONGEST = 3600.0
"""Seconds a command may ask for."""

_SCREEN = re.compile(
    r"(?:^|[;&|(]\s*|\bsudo\s+)(?:vim?|nvim|nano|emacs|less|more|man|top|htop|watch)\b", re.MULTILINE
)

_CONFINED = (
    "[ran confined ({level}), as everything that nobody was asked about; if it failed of that, call it again "
    "with risk high, and a person can let it run freely]"
)


def _claim(value: object) -> object:
    claim = value.strip().lower() if isinstance(value, str) else value
    return claim if claim in ("low", "medium", "high") else "high"


def run_in_terminal(commands: Commands) -> Tool:
    @tool(risk_floor=Risk.LOW, keeps_time=True)
    async def run_in_terminal(
        context: ToolContext,
        command: Annotated[str, "A bash command or script, exactly as it shall run.", Field(min_length=1)],
        risk: Annotated[
            Literal["low", "medium", "high"],
            "What it can do: low only reads; medium changes what is easily changed back; high deletes, "
            "installs, restarts, pays, publishes or needs root. Always state it; left out means high.",
            BeforeValidator(_claim),  # A1: a claim nobody understands is high, not a reason to stop
        ] = "high",
        explanation: Annotated[str, "One sentence for the person: what it does and why."] = "",
        timeout: Annotated[
            float | None,
            "Seconds until it is ended with all it started. Give it for slow work only.",
            Field(gt=0, le=LONGEST),
        ] = None,
    ) -> ToolOutcome:
        """Run a command on the server with bash and return its output and exit code.

        The folder is remembered from one call to the next; variables and functions are not. Standard input
        is closed and there is no screen: use flags instead of prompts, `top -bn1` instead of `top`, `sed`
        instead of an editor. Standard error is shown after standard output; add `2>&1` if order matters.
        """
        if not command.strip():
            raise ToolError("InvalidArgs", "run_in_terminal: $.command: is empty")
        if not context.cwd.is_dir():
            # Not run elsewhere: a person may have approved it for that folder.
            text = (
                f"not run: the folder {str(context.cwd)!r} is gone; the next call runs in {context.work_dir}"
            )
            return ToolOutcome(text, is_error=True, code="ENOENT", cwd=context.work_dir)
        limit = timeout or context.timeout
        file = context.output_dir / f"{context.call_id}.txt"
        file.unlink(missing_ok=True)  # of a read that a kill cut short, and that is done again
        finished = await commands.run(
            command,
            cwd=context.cwd,
            timeout=limit,
            file=file,
            on_line=context.progress,
            confined=not context.approved,
        )
        moved = finished.cwd if finished.cwd and finished.cwd != context.cwd.resolve() else None
        code = _code(finished)
        notes = list(_notes(finished, command, limit))
        if code and not context.approved and commands.sandbox and commands.sandbox.level != "off":
            notes.append(_CONFINED.format(level=commands.sandbox.level))
        if moved:
            notes.append(f"[now in {moved}]")
        return ToolOutcome(
            _join(finished.output, notes),
            is_error=code != "",
            code=code,
            exit_code=finished.status if finished.status >= 0 and not finished.timed_out else None,
            truncated=finished.cut,
            file=str(finished.file) if finished.file else "",
            cwd=moved,
        )

    return run_in_terminal


def _code(finished: Finished) -> str:
    if finished.timed_out:
        return "Timeout"
    if finished.status < 0:
        return signal_code(-finished.status)
    return f"ExitCode:{finished.status}" if finished.status else ""


def _notes(finished: Finished, command: str, limit: float) -> list[str]:
    notes = []
    if finished.cut:
        notes.append(f"[{finished.total} bytes in all; whole output in {finished.file}]")
    if finished.timed_out:
        end = "all it started was ended" if not finished.background else "not all of it could be ended"
        notes.append(f"[timed out after {limit:g} seconds; {end}]")
        if _SCREEN.search(command):
            notes.append("[there is no screen and no keyboard: use a form that ends by itself]")
    elif finished.status - 128 in set(Signals):
        notes.append(f"[exit code {finished.status} usually means {signal_code(finished.status - 128)}]")
    if finished.background:
        pids = ", ".join(map(str, finished.background))
        where = f"; further output goes to {finished.file}" if finished.file else ""
        notes.append(f"[still running in the background: pid {pids}{where}]")
    return notes


def _join(output: str, notes: list[str]) -> str:
    if not notes:
        return output
    return output + ("\n" if output and not output.endswith("\n") else "") + "\n".join(notes)
