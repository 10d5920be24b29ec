"""`kai-bot models` and `kai-bot check --model`."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from bot.demo.model_server import ModelRequest, ModelServer, Reply, call, serve_model
from bot.llm.probe import Finding, probe_model, provider_lines
from bot.llm.table import load_providers
from bot.messages import Usage
from tests.llm.samples import as_written, environ_for


def honest(request: ModelRequest) -> Reply:
    """Does what the probe asks, natively or as text."""
    if found := re.search(r"kai[0-9a-f]{6}", str(request.body)):
        return Reply(found[0], usage=Usage(200, 5))
    reply = Reply("", [call("read_word", language="en")], usage=Usage(100, 10))
    return reply if request.tools else as_written("as text", reply)


async def report(model: str, script: object = honest) -> dict[str, Finding]:
    server = ModelServer(script)  # type: ignore[arg-type]
    async with serve_model(server) as url:
        found = await probe_model(model, environ_for(url))
    return {finding.name: finding for finding in found}


@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("custom:scripted", "in fields of their own"),
        ("custom:scripted-text", "as text"),
        ("stackspot:scripted", "as text"),
        ("gemini:scripted", "in fields of their own"),
    ],
)
async def test_a_model_that_works_is_found_to_work(model: str, how: str) -> None:
    found = await report(model)

    assert found["tools"].text == how or model == "custom:scripted-text"
    assert (found["call"].ok, found["result"].ok) == (True, True)
    assert "300 in (0 cached), 15 out, price unknown" in found["usage"].text


async def test_a_model_that_calls_nothing_is_found_out() -> None:
    found = await report("custom:scripted", lambda request: Reply("The word is kai."))

    assert found["call"].ok is False
    assert "result" not in found


async def test_a_model_that_does_not_read_the_result_is_found_out() -> None:
    script = [Reply("", [call("read_word", language="en")]), Reply("I don't know.")]

    found = await report("custom:scripted", script)

    assert (found["call"].ok, found["result"].ok) == (True, False)


def test_every_provider_is_listed_with_its_key_its_tools_and_its_cache() -> None:
    lines = provider_lines({"ANTHROPIC_API_KEY": "sk-very-secret"})

    by_name = {line.split()[0]: line for line in lines[1:]}
    assert set(by_name) == set(load_providers())
    assert re.match(r"anthropic +present +native +marks", by_name["anthropic"])
    assert re.match(r"openai +missing +native +automatic", by_name["openai"])
    assert re.match(r"stackspot +missing +text +none", by_name["stackspot"])
    assert "retired on 2026-07-30" in by_name["github-models"]
    assert "COPILOT_ENABLED" in by_name["copilot"]
    assert "sk-very" not in "\n".join(lines)


def kai(arguments: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bot", "--env-file", os.devnull, *arguments],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_models_are_listed_without_any_settings() -> None:
    done = kai(["models"], {})

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(load_providers()) + 1


def test_a_model_that_is_out_of_reach_is_a_failure_without_the_key() -> None:
    environ = {"CUSTOM_BASE_URL": "http://127.0.0.1:1", "CUSTOM_API_KEY": "very-secret-key"}

    done = kai(["check", "--model", "stackspot:x"], {})
    unreachable = kai(["check", "--model", "custom:x"], environ)

    assert (done.returncode, "STACKSPOT_CLIENT_KEY" in done.stderr) == (78, True)
    assert unreachable.returncode == 1
    assert "FAILED" in unreachable.stdout
    assert "very-secret" not in unreachable.stdout + unreachable.stderr
