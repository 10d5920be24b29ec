"""What `make demo` chooses, starts and says; the demo as a person meets it is in tests/e2e/test_demo.py."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.config import SETTINGS
from bot.demo import Emulator, serve
from bot.demo.choice import GUIDE, Choice, choose
from bot.demo.play import DemoError, bot_environ, new_token, play, read_options
from bot.demo.world import valid_token
from bot.errors import ConfigError

NOBODY = "http://127.0.0.1:9/v1"
NO_FILE = Path(os.devnull)


@asynccontextmanager
async def ollama(*models: str, status: int = 200) -> AsyncIterator[str]:
    """An Ollama as far as the question which models it has."""

    async def tags(_: Request) -> Response:
        return JSONResponse({"models": [{"name": name} for name in models]}, status)

    app = Starlette(routes=[Route("/api/tags", tags)])
    async with serve(Emulator(), app=app) as url:
        yield f"{url}/v1"


async def chosen(
    asked: str = "", env_file: Path = NO_FILE, *, said: list[str] | None = None, **environ: str
) -> Choice:
    lines: list[str] = [] if said is None else said
    return await choose(asked, env_file, {"OLLAMA_BASE_URL": NOBODY} | environ, lines.append)


# ── which model ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_model_that_is_set_up_comes_first() -> None:
    async with ollama("qwen3:8b") as url:
        choice = await chosen(LLM_MODEL="openai:gpt-5", OPENAI_API_KEY="k" * 20, OLLAMA_BASE_URL=url)

    assert choice.model == "openai:gpt-5"
    assert choice.configured


async def test_a_model_in_the_env_file_counts_and_the_bot_reads_that_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("LLM_MODEL=anthropic:claude-sonnet-5-5\nANTHROPIC_API_KEY=kkkkkkkkkkkk\n")

    choice = await chosen(env_file=file)

    assert (choice.model, choice.env_file) == ("anthropic:claude-sonnet-5-5", str(file))


async def test_a_model_without_its_key_is_passed_over_and_said_so() -> None:
    said: list[str] = []

    choice = await chosen(said=said, LLM_MODEL="anthropic:claude-sonnet-5-5")

    assert choice.model == GUIDE
    assert "ANTHROPIC_API_KEY is not set" in said[0]


async def test_next_comes_an_ollama_that_answers() -> None:
    async with ollama("qwen3:8b", "llama3.2") as url:
        choice = await chosen(OLLAMA_BASE_URL=url)

    assert choice.model == "ollama:qwen3:8b"
    assert choice.environ["OLLAMA_BASE_URL"] == url


@pytest.mark.parametrize(("models", "status"), [((), 200), (("x",), 500)])
async def test_an_ollama_without_models_or_in_trouble_is_none(models: tuple[str, ...], status: int) -> None:
    async with ollama(*models, status=status) as url:
        choice = await chosen(OLLAMA_BASE_URL=url)

    assert choice.model == GUIDE


async def test_else_the_guide() -> None:
    choice = await chosen()

    assert choice.model == GUIDE
    assert "no model is set up" in choice.why


async def test_what_is_asked_for_wins() -> None:
    choice = await chosen("guide", LLM_MODEL="openai:gpt-5", OPENAI_API_KEY="k" * 20)

    assert choice.model == GUIDE


async def test_what_is_asked_for_and_can_not_be_had_is_an_error() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        await chosen("openai:gpt-5")


async def test_the_local_model_is_one_that_is_here(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed; see local.lock")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    choice = await chosen("local", LOCAL_MODEL_FILE=str(tmp_path / "m.gguf"))

    assert choice.model.startswith("local:")
    assert choice.environ["LOCAL_MODEL_FILE"] == str(tmp_path / "m.gguf")
    assert "makes mistakes" in choice.why


# ── what the bot is given ────────────────────────────────────────────────────────────────────────────────


def environ_of(base: Mapping[str, str], choice: Choice = Choice(GUIDE, "")) -> dict[str, str]:  # noqa: B008
    folder = Path("/demo")
    return bot_environ(base, choice, "1:token", "http://127.0.0.1:1", folder, folder / "work")


def test_the_bots_own_settings_are_not_the_demos() -> None:
    base = dict.fromkeys(SETTINGS, "theirs") | {"PATH": "/bin", "STATE_DIRECTORY": "/theirs"}

    environ = environ_of(base)

    theirs = {name for name, value in environ.items() if value == "theirs"}
    assert theirs == {"LANGUAGE"}
    assert environ["PATH"] == "/bin"
    assert environ["STATE_DIR"] == "/demo/state"
    assert "STATE_DIRECTORY" not in environ


def test_a_model_brings_its_settings() -> None:
    choice = Choice("openai:gpt-5", "", {"LLM_FALLBACKS": "openai:gpt-4.1"}, configured=True)

    environ = environ_of({"OPENAI_API_KEY": "k", "CREDENTIALS_DIRECTORY": "/creds"}, choice)

    assert environ["LLM_MODEL"] == "openai:gpt-5"
    assert environ["LLM_FALLBACKS"] == "openai:gpt-4.1"
    assert environ["CREDENTIALS_DIRECTORY"] == "/creds"


def test_every_demo_has_a_token_of_its_own() -> None:
    tokens = {new_token() for _ in range(20)}

    assert len(tokens) == 20
    assert all(valid_token(token) for token in tokens)


def test_the_port_and_the_model_are_options() -> None:
    options = read_options(["--model", "guide", "--port", "0"])

    assert (options.model, options.port) == ("guide", 0)


# ── what can go wrong ────────────────────────────────────────────────────────────────────────────────────


async def test_a_taken_port_says_which_to_take() -> None:
    async with serve(Emulator()) as url:
        port = int(url.rpartition(":")[2])

        with pytest.raises(DemoError, match=f"port {port} .*make demo PORT={port + 1}"):
            async with play(Choice(GUIDE, ""), port=port, base=os.environ):
                pass


async def test_a_bot_that_can_not_start_shows_the_end_of_its_log() -> None:
    with pytest.raises(DemoError, match=r"(?s)ended with code 78.*no provider 'nobody'"):
        async with play(Choice("nobody:none", ""), base=os.environ):
            pass


async def test_a_missing_package_says_how_to_get_it(tmp_path: Path) -> None:
    # A package that can't be imported, first on the path of a process of its own.
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError('no', name='starlette')\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.demo", "--model", "guide", "--port", "0", "--env-file", os.devnull,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip

    _, told = await asyncio.wait_for(process.communicate(), 30)

    assert process.returncode == 1
    assert "'starlette' is missing; get what the demo needs: pip install 'kai-bot[demo]'" in told.decode()


def test_a_demo_has_no_wallet_and_no_credentials() -> None:
    base = {
        "BASE_RPC_URLS": "http://x",
        "WALLET_MAX_DAY": "ETH=1",
        "CREDENTIALS_DIR": "/keys",
        "X_API_URL": "http://x",
    }

    assert environ_of(base).keys() & base.keys() == set()
