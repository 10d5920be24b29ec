"""What importing costs: a client that only sends results and reads native calls does without the parser."""

import subprocess
import sys

import pytest


def printed(code: str) -> str:
    """Return what a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["openai_chat", "anthropic", "responses", "gemini", "ollama", "bedrock"])
def test_a_client_is_imported_without_the_parser(name: str) -> None:
    loaded = printed(
        f"import sys, bot.llm.{name}; print(*sorted(m for m in sys.modules if m.startswith('bot.protocol.')))"
    )

    assert "bot.protocol.envelope" in loaded
    assert not {"bot.protocol.parser", "bot.protocol.machine", "bot.protocol.blocks"} & set(loaded.split())


def test_what_is_neutralised_is_compiled_when_first_needed() -> None:
    compiled = printed(
        "from bot.protocol.neutral import markers, neutralise; import bot.llm.anthropic\n"
        "before = markers.cache_info().currsize; neutralise(''); neutralise('')\n"
        "print(before, markers.cache_info().currsize, markers.cache_info().misses)"
    )

    assert compiled == "0 1 1"


def test_the_parser_is_there_for_who_asks_for_it_and_nothing_else_is() -> None:
    assert printed("from bot.protocol import ToolCallParser; print(ToolCallParser.__name__)") == (
        "ToolCallParser"
    )
    assert printed("import bot.protocol as p; print(hasattr(p, 'Parser'))") == "False"


def test_functions_named_like_their_file_stay_functions() -> None:
    names = printed(
        "import bot.protocol.parser, bot.protocol.strip, bot.protocol.report, bot.protocol.envelope\n"
        "from bot.protocol import strip, report, envelope, describe, correction\n"
        "print(all(map(callable, (strip, report, envelope, describe, correction))))"
    )

    assert names == "True"
