"""What the loop gives to whoever shows an answer while it is written, and what it stores for it."""

from bot.agent import Typing
from bot.agent.outcomes import Thinking
from bot.demo.model_server import Reply, call
from bot.messages import AssistantMessage, Usage, UserMessage
from bot.store.base import StoredUpdate
from tests.agent.conftest import ALICE, HERE, SECRET, Build, eventually, in_flight


async def test_every_reply_begins_with_an_event(house: Build) -> None:
    here = await house([Reply("I look.", [call("look", seconds=0)]), Reply("All is well.")])

    await here.hear("look")

    kinds = [type(e).__name__ for e in here.events if isinstance(e, Thinking | Typing)]
    assert kinds == ["Thinking", "Typing", "Thinking", "Typing"]


async def test_an_answer_finishes_what_was_shown_of_it(house: Build) -> None:
    here = await house([Reply("All is well.")])

    await here.hear("hi")

    [answer] = await here.effects("answer")
    assert answer.payload["preview"] is True


async def test_what_is_said_beside_a_question_is_stored_before_it_and_once(house: Build) -> None:
    here = await house([Reply("First I tell them.", [call("publish", text="a")]), Reply("Told.")])

    await here.ask()
    await here.advance()

    stored = [(s.effect.kind, s.effect.payload.get("text")) for s in await here.store.unsent()]
    assert stored[0] == ("answer", "First I tell them.")
    assert [kind for kind, _ in stored] == ["answer", "card"]


async def test_a_question_without_words_comes_alone(house: Build) -> None:
    here = await house([Reply("", [call("publish", text="a")])])

    await here.ask()

    assert await here.effects("answer") == []


async def test_what_was_written_before_a_stop_stays_in_chat_and_transcript_without_secrets(
    house: Build,
) -> None:
    here = await house([Reply("never", delay=30)])
    async with in_flight(here.hear("hi")):
        await eventually(lambda: len(here.model.requests) == 1)

    assert await here.agent.stop(HERE, written=f"It is {SECRET} so far")

    [kept] = await here.effects("answer")
    assert kept.payload["text"] == "It is [redacted] so far"
    assert kept.payload["preview"] is True
    last = (await here.transcript())[-1]
    assert isinstance(last, AssistantMessage)
    assert last.text.startswith("It is [redacted] so far\n\n(The person stopped")


async def test_the_tokens_are_the_askers(house: Build) -> None:
    here = await house([Reply("Hello.", usage=Usage(30, 4))])

    await here.hear("hi")

    [row] = await here.store.spending(0.0)
    assert (row.user_id, row.input, row.output, row.calls) == (ALICE, 30, 4, 1)


async def test_pictures_stay_with_their_message(house: Build) -> None:
    here = await house([Reply("A cat.")])

    await here.agent.hear(HERE, UserMessage("what is this?", ALICE, "Alice", 5, images=("/srv/cat.jpg",)))
    await here.restart()

    first = (await here.transcript())[0]
    assert isinstance(first, UserMessage)
    assert first.images == ("/srv/cat.jpg",)


async def test_a_message_of_several_updates_finishes_them_all(house: Build) -> None:
    here = await house([Reply("Read it.")])
    await here.store.receive([StoredUpdate(5, "{}"), StoredUpdate(6, "{}"), StoredUpdate(7, "{}")], 0.0)

    await here.agent.hear(HERE, UserMessage("long", ALICE), update_id=(5, 6))

    assert [update.update_id for update in await here.store.unhandled()] == [7]
