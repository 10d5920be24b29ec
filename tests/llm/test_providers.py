from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.demo.model_server import ModelServer, Reply, Traits, serve_model
from bot.errors import ConfigError, LLMError
from bot.llm import build_client, open_http, provider_problems
from bot.llm.base import LLMClient
from bot.llm.ids import MISTRAL
from bot.llm.providers import load_providers, provider_secrets, window_of
from bot.llm.table import WINDOW, Sight, find
from bot.messages import Notice, Usage
from tests.llm.samples import asking, environ_for, hear, one_step


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
        (["gemini:g"], {}, ["GEMINI_API_KEY", "GOOGLEAI_API_KEY", "GOOGLE_API_KEY"]),
        (["github-models:gpt"], {"GITHUB_TOKEN": "x" * 20}, ["LLM_MODEL", "retired", "2026-07-30"]),
        (["copilot:gpt"], {"GITHUB_COPILOT_TOKEN": "t"}, ["COPILOT_ENABLED", "terms"]),
        (["copilot:gpt"], {"COPILOT_ENABLED": "no", "GITHUB_COPILOT_TOKEN": "t"}, ["COPILOT_ENABLED"]),
        (["anthropic:c"], {"ANTHROPIC_OAUTH_TOKEN": "t"}, ["ANTHROPIC_API_KEY", "subscription", "terms"]),
        (["anthropic:c"], {"ANTHROPIC_API_KEY": "sk-ant-oat01-x"}, ["subscription"]),
        (["bedrock:m"], {"AWS_BEARER_TOKEN_BEDROCK": "t"}, ["BEDROCK_REGION"]),
        (["anthropic:c"], {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_CACHE_TTL": "2h"}, ["ANTHROPIC_CACHE_TTL"]),
        (["ollama:m"], {"OLLAMA_NUM_CTX": "lots"}, ["OLLAMA_NUM_CTX", "'lots'"]),
        (["stackspot:a"], {"CLIENT_ID": "c", "CLIENT_KEY": "k"}, ["STACKSPOT_REALM"]),
        (["stackspot:a"], {"CLIENT_KEY": "k", "STACKSPOT_REALM": "r"}, ["STACKSPOT_CLIENT_ID"]),
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
        (["gemini:g"], {"GOOGLE_API_KEY": "k"}),
        (["copilot:gpt"], {"COPILOT_ENABLED": "1", "GITHUB_COPILOT_TOKEN": "t"}),
        (["bedrock:m"], {"AWS_REGION": "eu-north-1", "AWS_BEARER_TOKEN_BEDROCK": "t"}),
        (["bedrock:m"], {"AWS_REGION": "eu-north-1"}),
        (["stackspot:a"], {"CLIENT_ID": "c", "CLIENT_KEY": "k", "STACKSPOT_REALM": "r"}),
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


SETTINGS = [
    "openai:scripted", "openai:gpt-5.4-scripted", "anthropic:scripted", "zai:scripted-auto",
    "minimax:scripted", "moonshot:scripted-strict", "openrouter:scripted", "gemini:scripted",
    "gemini:gemini-2.5-scripted", "xai:scripted", "copilot:scripted", "ollama:scripted",
    "stackspot:scripted", "bedrock:scripted-plain", "bedrock:anthropic.claude-scripted-v1:0",
    "deepseek:scripted-strict", "groq:scripted", "custom:scripted",
]  # fmt: skip


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
    assert server.requests[0].tools or model.startswith("stackspot")


@pytest.mark.parametrize("model", SETTINGS)
async def test_every_row_takes_a_history_with_calls_and_no_tools(model: str) -> None:
    """Requirement N4, where `none` is not accepted too."""
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, open_http() as http:
        await hear(build_client([model], environ_for(url), http), asking(*one_step(), tools=()))

    assert server.refusals == []


async def test_every_row_is_known_to_this_test() -> None:
    tested = {*(name.partition(":")[0] for name in SETTINGS), "mistral", "github-models"}

    assert tested == {name for name, row in load_providers().items() if not row.offline}


def test_the_documentation_names_every_row_and_its_keys() -> None:
    text = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}

    table = {name: row for name, row in load_providers().items() if not row.offline}
    assert set(rows) == set(table)
    for name, row in table.items():
        assert row.retired or not row.key or row.key_names[0] in rows[name]


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        ("openai:scripted", "openai"),
        ("openai:gpt-5.4-scripted", "responses"),
        ("xai:scripted", "responses"),
        ("gemini:scripted", "gemini"),
        ("ollama:scripted", "ollama"),
        ("minimax:scripted", "openai"),
    ],
)
async def test_reasoning_models_of_openai_and_xai_are_asked_through_responses(model: str, shape: str) -> None:
    """Requirement N15."""
    server = ModelServer(lambda request: Reply("Hi."))

    await built(server, [model])

    assert [request.shape for request in server.requests] == [shape]


async def test_minimax_speaks_both_shapes_with_tools_in_each() -> None:
    """Requirement N13."""
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, open_http() as http:
        urls = {"MINIMAX_API_COMPAT": "anthropic", "MINIMAX_BASE_URL": f"{url}/anthropic"}
        await hear(build_client(["minimax:scripted"], {**environ_for(url), **urls}, http))

    [asked] = server.requests
    assert (asked.shape, bool(asked.tools)) == ("anthropic", True)


async def test_zai_thinking_is_preserved_by_the_models_that_can() -> None:
    row, _ = find("zai:glm-4.7", {})

    assert row.extra["thinking"] == {"type": "enabled", "clear_thinking": False}
    assert not find("zai:glm-4.5-air", {})[0].extra


async def test_an_ollama_server_is_told_how_much_context_to_keep() -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, open_http() as http:
        environ = {"OLLAMA_BASE_URL": f"{url}/v1", "OLLAMA_NUM_CTX": "8192", "OLLAMA_API_KEY": "test-key"}
        await hear(build_client(["ollama:scripted"], environ, http))

    assert server.requests[0].body["options"]["num_ctx"] == 8192
    assert window_of(["ollama:scripted"], environ) == 8192


@pytest.mark.parametrize(
    ("spec", "window"),
    [
        ("anthropic:claude-haiku-4-5", 200_000),
        ("anthropic:claude-sonnet-5-5", 1_000_000),
        ("openai:gpt-5.4-mini", 1_050_000),
        ("custom:anything", WINDOW),
    ],
)
def test_a_window_is_that_of_the_model(spec: str, window: int) -> None:
    assert window_of([spec], {}) == window


def test_every_key_is_a_secret_whatever_its_name_looks_like() -> None:
    """Requirement N16."""
    environ = {
        "AWS_BEARER_TOKEN_BEDROCK": "bedrock-token",
        "CLIENT_KEY": "stackspot-key",
        "HOME": "/home/somebody",
    }

    assert provider_secrets(environ) == {"bedrock-token", "stackspot-key"}


async def test_models_behind_one_key_rest_together_when_it_is_refused() -> None:
    """Requirement F5."""
    server = ModelServer(lambda request: Reply("Hi."), key="another")

    async with serve_model(server) as url, open_http() as http:
        client = build_client(["custom:scripted", "custom:scripted-2"], environ_for(url), http)
        with pytest.raises(LLMError, match=r"custom:scripted-2: resting"):
            await hear(client)

    assert len(server.refusals) == 1


async def test_mistral_gets_its_own_ids_and_order() -> None:
    traits = Traits(ids=MISTRAL.pattern, alternates=True)
    server = ModelServer([Reply("Hi.")], models={"scripted": traits})
    prompt = asking(*one_step(), Notice("careful", "loop"))

    async with serve_model(server) as url, open_http() as http:
        await hear(build_client(["mistral:scripted"], environ_for(url), http), prompt)

    assert server.refusals == []
    assert "stream_options" not in server.requests[0].body


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

    heavy = ("pydantic", "telegram", "starlette", "botocore")
    loaded = f"import sys, bot.llm; print([m for m in {heavy} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


SIGHTED = {
    "openai:gpt-5.4": True, "anthropic:claude-opus-5-5": True, "zai:glm-5": False, "zai:glm-4.6v": True,
    "zai:GLM-5V-Turbo": True, "minimax:MiniMax-M2.7": False, "minimax:MiniMax-M3": True,
    "moonshot:kimi-k2-thinking": False, "moonshot:kimi-k2.6": True,
    "moonshot:moonshot-v1-8k-vision-preview": True,
    "openrouter:any/model": True, "gemini:gemini-3-pro": True, "xai:grok-4.20": True, "copilot:gpt": False,
    "ollama:qwen3-vl:8b": True, "stackspot:agent": False, "bedrock:anthropic.claude-opus-4-6": True,
    "deepseek:deepseek-flash": True, "deepseek:deepseek-v4-pro": False,
    "deepseek:deepseek-v4-flash-vision-exp": True, "mistral:mistral-large-2512": True,
    "groq:qwen/qwen3.8-27b": True, "groq:openai/gpt-oss-120b": False, "custom:llava": True,
}  # fmt: skip


@pytest.mark.parametrize(("spec", "sees"), SIGHTED.items())
def test_a_row_says_which_of_its_models_see(spec: str, sees: bool) -> None:
    row, _ = find(spec, {})

    assert (row.sight is not None) == sees


def test_a_model_sees_in_either_shape_of_its_provider() -> None:
    row, _ = find("minimax:MiniMax-M3", {"MINIMAX_API_COMPAT": "anthropic"})

    assert (row.api, row.vision, row.extra) == ("anthropic", True, {})


def test_formats_that_a_provider_does_not_take_are_left_out() -> None:
    formats = {spec: find(spec, {})[0].sight for spec in ("gemini:g", "xai:grok", "openai:gpt")}

    assert [sight.formats if sight else () for sight in formats.values()] == [
        ["jpeg", "png", "webp"],
        ["jpeg", "png"],
        ("jpeg", "png", "gif", "webp"),
    ]


def test_every_row_s_pictures_can_be_read() -> None:
    for row in load_providers().values():
        for entry in ({}, *row.models):
            Sight(**entry.get("pictures", row.pictures))
