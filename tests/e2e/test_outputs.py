"""Long output: the model reads a part, the person can fetch the whole, without secrets."""

from pathlib import Path

from bot.demo.model_server import Reply
from tests.e2e.harness import replies, shell, town

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
