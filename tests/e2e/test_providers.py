"""The seed's dialogue on every row of the table of providers, and with a failover in its middle."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.model_server import ModelRequest, Reply, Script
from bot.llm.table import load_providers
from tests.e2e.harness import in_text, replies, shell, town
from tests.llm.samples import environ_for

ROWS = [
    "openai:scripted", "openai:gpt-5.4-scripted", "anthropic:scripted", "zai:scripted-auto",
    "minimax:scripted", "minimax:scripted anthropic", "moonshot:scripted-strict", "openrouter:scripted",
    "gemini:scripted", "xai:scripted", "copilot:scripted", "ollama:scripted", "ollama:scripted-text",
    "stackspot:scripted", "bedrock:anthropic.claude-scripted-v1:0", "deepseek:scripted-strict",
    "mistral:scripted", "groq:scripted", "custom:scripted",
]  # fmt: skip
AT_ONCE = 5
GROUPS = [ROWS[at : at + AT_ONCE] for at in range(0, len(ROWS), AT_ONCE)]

STEPS = [
    Reply("Let me look at the state of git first.", [shell("git status")], thinking="git first", chunk=5),
    Reply("Restarting.", [shell("sudo systemctl restart kai-bot", risk="medium")], thinking="hm", chunk=5),
    Reply("Checking.", [shell("systemctl is-active kai-bot")], thinking="is it?", chunk=5),
    Reply("Done. The service was restarted and is **active**.", chunk=5),
]
RAN = ["git status", "sudo systemctl restart kai-bot", "systemctl is-active kai-bot"]
DEPLOY = replies(STEPS)


def programs(folder: Path) -> str:
    """Make stand-ins for the server's programs, which log that they ran; return a PATH with them first."""
    (folder / "bin").mkdir(parents=True)
    for name, output in {"git": "nothing to commit", "sudo": "", "systemctl": "active"}.items():
        program = folder / "bin" / name
        said = f'echo "{output}"' if output else ":"
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/ran\n{said}\n')
        program.chmod(0o755)
    return f"{folder}/bin:/usr/bin:/bin"


def natively_or_not(script: Script) -> Script:
    """Let the model write its calls as text where it is offered no tools."""
    written = in_text(script)

    def answer(request: ModelRequest) -> Reply | Awaitable[Reply]:
        return script(request) if request.tools else written(request)

    return answer


async def deploy(
    folder: Path, models: Sequence[str], script: Script = DEPLOY, *, compat: str = ""
) -> list[str]:
    """Have the bot deploy, with an approval on the way; return what went wrong."""
    path = programs(folder)
    async with town(folder, natively_or_not(script), start=False, PATH=path) as here:
        environ = environ_for(here.settings["ANTHROPIC_BASE_URL"])
        chain = {"LLM_MODEL": models[0], "LLM_FALLBACKS": ",".join(models[1:])}
        here.settings |= {**environ, **chain, "MINIMAX_API_COMPAT": compat}
        await here.start()
        here.alice.send("deploy the new version of the bot")
        card = await here.alice.chat.expect("sudo systemctl restart kai-bot", within=25)
        before = (folder / "ran").read_text()
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("was restarted and is active", within=25)
        screen = here.alice.screen().text
        await here.stop()
        wrong = [f"refused: {text}" for _, text in here.model.refusals if "not support tools" not in text]
        wrong += here.violations()
        wrong += ["sudo ran unasked"] if "sudo" in before else []
        wrong += ["markup was shown"] if "tool_use" in screen else []
        wrong += [f"{text!r} shown twice" for text in (s.text for s in STEPS) if screen.count(text) > 1]
        ran = (folder / "ran").read_text().splitlines()
        wrong += [] if ran == RAN else [f"ran {ran}"]
        steps = [str(request.body) for request in here.model.requests][-1]
        wrong += [f"step {n}/12 was not seen" for n in (1, 2, 3) if f"step {n}/12" not in steps]
    return wrong


@pytest.mark.parametrize("rows", GROUPS, ids=lambda rows: ", ".join(rows))
async def test_the_seed_dialogue_passes_on_every_row(tmp_path: Path, rows: list[str]) -> None:
    async def run(number: int, row: str) -> list[str]:
        model, _, compat = row.partition(" ")
        return await deploy(tmp_path / str(number), [model], compat=compat)

    wrong = await asyncio.gather(*(run(number, row) for number, row in enumerate(rows)))

    assert dict(zip(rows, wrong, strict=True)) == {row: [] for row in rows}


def test_every_row_of_the_table_is_here() -> None:
    there = {name for name, row in load_providers().items() if not row.offline and not row.retired}

    assert {row.partition(":")[0] for row in ROWS} == there


PAIRS = [
    ("openai:gpt-5.4-scripted", "anthropic:scripted"),
    ("anthropic:scripted", "gemini:scripted"),
    ("gemini:scripted", "stackspot:scripted"),
    ("ollama:scripted", "bedrock:anthropic.claude-scripted-v1:0"),
]


async def test_another_provider_takes_over_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    """The first breaks off while it says its second reply; nothing runs or is shown twice."""

    def breaking(first: str) -> Script:
        model = first.partition(":")[2]
        shapes = {"openai": "responses"}
        shape = shapes.get(name := first.partition(":")[0], name)

        def script(request: ModelRequest) -> Reply:
            reply = STEPS[request.step]
            broken = (request.shape, request.model, request.step) == (shape, model, 1)
            return replace(reply, fault="error") if broken else reply

        return script

    async def run(number: int, pair: tuple[str, str]) -> list[str]:
        return await deploy(tmp_path / str(number), pair, breaking(pair[0]))

    wrong = await asyncio.gather(*(run(number, pair) for number, pair in enumerate(PAIRS)))

    assert dict(zip(PAIRS, wrong, strict=True)) == {pair: [] for pair in PAIRS}
