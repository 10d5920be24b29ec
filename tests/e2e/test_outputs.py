"""Long output: the model reads a part, a person can have the whole, without secrets. Long answers are cut."""

from pathlib import Path

import pytest

from bot.demo import refuse
from bot.demo.faults import Fault, slow
from bot.demo.model_server import Reply
from tests.e2e.harness import replies, shell, town
from tests.e2e.indoors import House, house

COUNT = replies([Reply("", [shell("seq 1 5000; printenv PATH; cat secret.txt")]), Reply("Counted to 5000.")])


async def test_a_button_under_the_answer_fetches_the_whole_output_redacted(tmp_path: Path) -> None:
    async with town(tmp_path, COUNT) as here:
        (here.work / "secret.txt").write_text(f"token {here.emulator.token}\n")
        here.alice.send("count")
        card = await here.alice.chat.expect("May I run this?")  # it prints a secret file
        await here.alice.press("Approve", card).answered()
        answer = await here.alice.chat.expect("Counted to 5000.")
        [[button]] = answer.buttons

        toast = await here.alice.press(button.data, answer).answered()
        document = await here.alice.chat.expect(lambda message: message.kind == "document")

        stored = here.emulator.world.files.find(document.content["document"]["file_id"])
        assert stored is not None
        content = stored.data
        assert toast.text == "Sending the file"
        assert b"\n4999\n5000\n" in content
        assert here.emulator.token.encode() not in content
        assert "left out" in str(here.model.requests[-1].body)


LONG = "\n\n".join("word " * 60 + f"end of paragraph {number}." for number in range(20))
MOST = 4096
"""UTF-16 units of a message: https://core.telegram.org/bots/api#sendmessage"""


def said(here: House) -> list[str]:
    return [message.text for message in here.alice.chat.messages if message.sender.is_bot]


async def test_len_emoji(tmp_path: Path) -> None:
    async with house(tmp_path, replies([Reply("\U0001f600" * 5000)])) as here:
        here.alice.send("smile")
        await here.alice.chat.until(lambda _: sum(map(len, said(here))) >= 5000)

        assert "".join(said(here)) == "\U0001f600" * 5000
        assert max(len(text.encode("utf-16-le")) // 2 for text in said(here)) <= MOST
        assert [call for call in here.emulator.calls() if call.status == 400] == []


@pytest.mark.parametrize(
    "trouble",
    [None, refuse(429, retry_after=1), refuse(502)],
    ids=["all is well", "429", "502"],
)
async def test_len_silent_drop(tmp_path: Path, trouble: Fault | None) -> None:
    async with house(tmp_path, replies([Reply(LONG)])) as here:
        if trouble:
            here.emulator.fail("sendMessage", slow())
            here.emulator.fail("sendMessage", trouble)  # the second part
        here.alice.send("tell me all of it")
        await here.alice.chat.expect("end of paragraph 19.")

        assert [len(text) <= MOST for text in said(here)] == [True, True]
        assert "\n\n".join(said(here)) == LONG
