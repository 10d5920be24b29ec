from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.demo.model_server import ModelServer, Reply, Traits, serve_model
from bot.errors import ConfigError
from bot.llm import build_client, open_http, provider_problems
from bot.llm.base import LLMClient
from bot.llm.ids import MISTRAL
from bot.llm.providers import load_providers
from bot.messages import Notice, Usage
from tests.llm.samples import asking, hear, one_step


@pytest.mark.parametrize(
    ("models", "environ", "words"),
    [
        (["acme:x"], {}, ["LLM_MODEL", "'acme'", "openai", "custom"]),
        (["openai"], {}, ["LLM_MODEL", "provider:model"]),
        (["openai:"], {}, ["LLM_MODEL", "provider:model"]),
        ([""], {}, ["LLM_MODEL", "provider:model"]),
        (["openai:gpt"], {}, ["OPENAI_API_KEY"]),
        (["openai:gpt"], {"OPENAI_API_KEY": "  "}, ["OPENAI_API_KEY"]),
        (["openai:gpt"], {"OPENAI_API_KEY": "kéy"}, ["OPENAI_API_KEY"]),
        (["custom:x"], {}, ["CUSTOM_BASE_URL"]),
        (["custom:x"], {"CUSTOM_BASE_URL": "localhost:80"}, ["CUSTOM_BASE_URL", "http"]),
        (["ollama:x", "acme:y"], {}, ["LLM_FALLBACKS", "'acme'"]),
    ],
)
def test_a_problem_names_the_setting_to_fix(
    models: list[str], environ: Mapping[str, str], words: list[str]
) -> None:
    [problem] = provider_problems(models, environ)

    assert all(word in problem for word in words)


@pytest.mark.parametrize(
    ("models", "environ"),
    [
        (["openai:gpt", "anthropic:claude"], {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"}),
        (["ollama:qwen3:8b"], {}),
        (["custom:any/model"], {"CUSTOM_BASE_URL": "https://example.com/v1"}),
    ],
)
def test_a_model_that_can_be_asked_has_no_problem(models: list[str], environ: Mapping[str, str]) -> None:
    assert provider_problems(models, environ) == []


def test_all_problems_come_at_once_and_each_once() -> None:
    problems = provider_problems(["openai:a", "openai:b", "acme:c"], {})

    assert len(problems) == 2


def test_a_key_may_be_a_file_in_the_credentials_directory(tmp_path: Path) -> None:
    (tmp_path / "openai_api_key").write_text("sk-1\n")

    assert provider_problems(["openai:gpt"], {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == []


def test_a_key_file_that_cannot_be_read_is_named_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "openai_api_key").write_bytes(b"sk-\xff\xfe")

    [problem] = provider_problems(["openai:gpt"], {"CREDENTIALS_DIRECTORY": str(tmp_path)})

    assert "OPENAI_API_KEY" in problem
    assert "sk-" not in problem


async def test_a_client_is_not_built_on_problems() -> None:
    async with open_http() as http:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            build_client(["openai:gpt"], {}, http)


SETTINGS = ["custom:scripted", "anthropic:scripted", "openai:scripted", "deepseek:scripted", "groq:scripted",
            "openrouter:scripted", "ollama:scripted"]  # fmt: skip


def environ_for(url: str, *, key: str = "test-key") -> dict[str, str]:
    names = [name.upper() for name in load_providers()]
    urls = {f"{name}_BASE_URL": url if name == "ANTHROPIC" else f"{url}/v1" for name in names}
    return {**urls, **{f"{name}_API_KEY": key for name in names}}


async def built(server: ModelServer, models: list[str], *, turns: int = 1, **options: object) -> LLMClient:
    async with serve_model(server) as url, open_http() as http:
        client = build_client(models, environ_for(url), http, **options)  # type: ignore[arg-type]
        for _ in range(turns):
            assert (await hear(client, asking(*one_step()))).message.text == "Hi."
        return client


@pytest.mark.parametrize("model", SETTINGS)
async def test_every_row_talks_to_a_server_of_its_shape(model: str) -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    await built(server, [model])

    assert server.refusals == []
    assert server.requests[0].tools


async def test_mistral_gets_its_own_ids_and_order() -> None:
    traits = Traits(ids=MISTRAL.pattern, alternates=True)
    server = ModelServer([Reply("Hi.")], models={"scripted": traits})
    prompt = asking(*one_step(), Notice("careful", "loop"))

    async with serve_model(server) as url, open_http() as http:
        await hear(build_client(["mistral:scripted"], environ_for(url), http), prompt)

    assert server.refusals == []
    assert "stream_options" not in server.requests[0].body


async def test_every_row_is_known_to_this_test() -> None:
    assert {*(name.partition(":")[0] for name in SETTINGS), "mistral"} == set(load_providers())


@pytest.mark.parametrize(("mode", "native"), [("auto", True), ("native", True), ("text", False)])
async def test_the_tools_mode_says_how_calls_travel(mode: str, native: bool) -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    client = await built(server, ["custom:scripted"], tools_mode=mode)

    assert client.supports_native_tools is native
    assert bool(server.requests[0].tools) is native


async def test_a_model_without_tools_changes_to_text_by_itself() -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    client = await built(server, ["custom:scripted-text"], turns=2, on_usage=lambda model, usage: None)

    assert not client.supports_native_tools
    assert len(server.refusals) == 1


async def test_the_next_model_takes_over_across_wires() -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    await built(server, ["openai:no-such-model", "anthropic:scripted"])

    assert [request.shape for request in server.requests] == ["anthropic"]


async def test_usage_is_reported_whoever_answered() -> None:
    seen: list[Usage] = []

    await built(
        ModelServer(lambda request: Reply("Hi.", usage=Usage(5, 6))),
        ["openai:no-such-model", "custom:scripted"],
        on_usage=lambda model, usage: seen.append(usage),
    )

    assert seen == [Usage(5, 6)]


async def test_a_key_file_is_what_is_sent(tmp_path: Path) -> None:
    (tmp_path / "custom_api_key").write_text("test-key\n")
    server = ModelServer([Reply("Hi.")])

    async with serve_model(server) as url, open_http() as http:
        environ = {"CUSTOM_BASE_URL": f"{url}/v1", "CREDENTIALS_DIRECTORY": str(tmp_path)}
        await hear(build_client(["custom:scripted"], environ, http))

    assert server.refusals == []


def test_importing_the_models_loads_no_heavy_library() -> None:
    import subprocess
    import sys

    loaded = (
        "import sys, bot.llm; print([m for m in ('pydantic', 'telegram', 'starlette') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
