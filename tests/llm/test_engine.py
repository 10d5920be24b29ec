"""A real engine in the loop: llama.cpp, a small model, the bot as a process (issue 6, Proof; N3, A5, A6).

Skipped unless `ENGINE_TEST=1` is set: it needs `xllamacpp` (`pip install 'kai-bot[local]'`), fetches 93 MB
once into `tests/.cache`, and takes a minute of one core. `make engine` does all of it.

Nothing is scripted but the form the model may write in: words, or one call whose command it completes. Its
calls are text: llama.cpp takes no grammar beside `tools`, and `tool_choice: required` lets it talk instead.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.harness import ENVELOPE, town
from tests.llm.engine import Body, engine

WITHIN = 150.0
"""Seconds to wait for what a model says: on a busy machine the first prompt alone takes a minute."""

WORDS = 'root ::= [A-Z] [a-z ]{600,620} " end."'
CALL = (
    r"""root ::= "<tool_use>{\"name\": \"run_in_terminal\", \"arguments\": {\"command\": \"rm -rf ./old-" """
    r"""[a-z]{3,8} "\", \"risk\": \"" ("low" | "medium" | "high") "\", \"explanation\": \"" """
    r"""[a-zA-Z ]{10,40} "\"}}</tool_use>" """
)


def narrow(body: Body) -> Body:
    """Say what may be written next: a call when a person has just said "tidy", else words."""
    last = body["messages"][-1]["content"]
    calls = "tidy" in last and not last.startswith(ENVELOPE)
    return body | {"grammar": CALL if calls else WORDS, "max_tokens": 300, "temperature": 0}


@pytest.mark.skipif(os.environ.get("ENGINE_TEST") != "1", reason="ENGINE_TEST=1 is not set; see make engine")
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed; see make engine")
@pytest.mark.timeout(900)
async def test_a_real_model_streams_calls_waits_for_the_press_and_ends_its_turn(tmp_path: Path) -> None:
    async with (
        engine(narrow) as (url, front),
        town(tmp_path, [], CUSTOM_BASE_URL=url, LLM_MODEL="custom:smollm2", LLM_TOOLS="text") as here,
    ):
        chat = here.alice.chat
        here.alice.send("hello there")
        drafted = await chat.until(lambda screen: screen.draft is not None, within=WITHIN)
        spoken = await chat.expect(re.compile(r" end\."), within=WITHIN)

        here.alice.send("tidy up, please")
        card = await chat.expect("May I run this?", within=WITHIN)
        asked = re.search(r"rm -rf \./(old-[a-z]{3,8})\b", card.text)
        assert asked is not None, card.text
        (here.work / asked[1]).mkdir()
        await here.alice.press("Approve", card).answered(within=60)
        answer = await chat.expect(re.compile(r" end\."), within=WITHIN)
        await chat.until(lambda screen: "→ exit 0" in screen.text, within=60)
        assert await here.stop() == 0

        assert drafted.draft is not None
        assert spoken.text.startswith(drafted.draft.text.rstrip(" …"))
        assert len(drafted.draft.text) < len(spoken.text)
        assert answer is not spoken
        assert front.statuses == [200, 200, 200]
        assert min(front.pieces) > 10
        assert not (here.work / asked[1]).exists()
        assert "status=ok exit_code=0" in front.asked[-1]["messages"][-1]["content"]
        assert "tool_use" not in here.alice.screen().text
        assert here.violations() == []
