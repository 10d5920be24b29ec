"""What is shown of an answer or a turn before it is done, so that the next process can go on with it."""

from bot.messages import AssistantMessage, UserMessage
from bot.store.base import Effect, Preview, Store
from tests.store.conftest import OpenStore
from tests.store.samples import HERE, TOPIC

FINISHING = Effect("a1", HERE, "answer", {"text": "Done.", "preview": True})


async def test_a_preview_is_the_same_until_it_is_ended(store: Store) -> None:
    first = await store.begin_preview(HERE, "answer")
    await store.preview_sent(first.id, 55)

    again = await store.begin_preview(HERE, "answer")

    assert again == Preview(first.id, HERE, "answer", 55)
    await store.end_preview(first.id)
    assert await store.open_previews("answer") == []


async def test_kinds_and_conversations_have_their_own(store: Store) -> None:
    made = [await store.begin_preview(HERE, "answer"), await store.begin_preview(TOPIC, "answer")]
    await store.begin_preview(HERE, "progress")

    assert await store.open_previews("answer") == made
    assert await store.open_previews("answer", TOPIC) == [made[1]]


async def test_it_survives_a_restart(open_store: OpenStore) -> None:
    async with open_store() as store:
        preview = await store.begin_preview(HERE, "answer")
        await store.preview_sent(preview.id, 55)

    async with open_store() as store:
        assert await store.open_previews("answer") == [Preview(preview.id, HERE, "answer", 55)]


async def test_the_answer_is_handed_the_preview_when_it_is_stored(store: Store) -> None:
    preview = await store.begin_preview(HERE, "answer")
    await store.append(HERE, [AssistantMessage("Done.")], effects=[FINISHING])

    await store.preview_sent(preview.id, 55)  # its own message may arrive later

    assert await store.preview_of("a1") == Preview(preview.id, HERE, "answer", 55)
    assert [stored.previewed for stored in await store.unsent()] == [True]
    assert await store.open_previews("answer") == []


async def test_an_answer_that_finishes_nothing_is_handed_nothing(store: Store) -> None:
    await store.begin_preview(HERE, "answer")

    await store.enqueue([Effect("a2", HERE, "answer", {"text": '"preview":true'})])
    await store.enqueue([Effect("a3", TOPIC, "answer", {"text": "Done.", "preview": True})])

    assert await store.preview_of("a2") is None
    assert await store.preview_of("a3") is None
    assert [stored.previewed for stored in await store.unsent()] == [False, False]
    assert len(await store.open_previews("answer")) == 1


async def test_when_a_person_speaks_again_what_stands_open_is_forgotten(store: Store) -> None:
    preview = await store.begin_preview(HERE, "answer")
    await store.append(HERE, [AssistantMessage("Done.")], effects=[FINISHING])
    await store.begin_preview(HERE, "answer")
    await store.begin_preview(HERE, "progress")

    await store.append(HERE, [UserMessage("And now?")])

    assert await store.open_previews("answer") == await store.open_previews("progress") == []
    assert await store.preview_of("a1") == preview


async def test_once_the_answer_is_stored_nothing_more_is_begun_of_it(store: Store) -> None:
    await store.append(HERE, [UserMessage("go")])
    begun = await store.begin_answer(HERE)
    again = await store.begin_answer(HERE)
    await store.append(HERE, [AssistantMessage("Done.")], effects=[FINISHING])

    assert begun is not None
    assert again == begun
    assert await store.begin_answer(HERE) is None
    assert await store.open_previews("answer") == []


async def test_the_next_turn_may_show_its_own_though_the_last_answer_still_waits(store: Store) -> None:
    await store.append(HERE, [UserMessage("go")])
    await store.append(HERE, [AssistantMessage("Done.")], effects=[FINISHING])
    await store.append(HERE, [UserMessage("And now?")])

    assert await store.begin_answer(HERE) is not None


async def test_what_stands_in_for_a_part_is_known_until_that_part_is_sent(open_store: OpenStore) -> None:
    async with open_store() as store:
        await store.enqueue([FINISHING])
        [stored] = await store.unsent()
        await store.stand_in(stored.id, 55)
        await store.stand_in(stored.id, 56)

    async with open_store() as store:
        standing_in = await store.preview_of("a1")
        await store.part_sent(stored.id, 56, last=False)

        assert standing_in is not None
        assert (standing_in.conversation, standing_in.message_id) == (HERE, 56)
        assert await store.preview_of("a1") is None


async def test_what_stands_in_takes_the_place_of_what_may_have_been_shown(store: Store) -> None:
    await store.begin_preview(HERE, "answer")
    await store.enqueue([FINISHING])
    [stored] = await store.unsent()

    await store.stand_in(stored.id, 55)

    standing_in = await store.preview_of("a1")
    assert standing_in is not None
    assert standing_in.message_id == 55


async def test_nothing_stands_in_for_an_effect_that_is_done(store: Store) -> None:
    await store.enqueue([FINISHING])
    [stored] = await store.unsent()
    await store.part_sent(stored.id, 54, last=True)

    await store.stand_in(stored.id, 55)

    assert await store.preview_of("a1") is None


async def test_a_chat_that_moves_leaves_its_messages_behind(store: Store) -> None:
    await store.begin_preview(HERE, "progress")

    await store.migrate_chat(HERE.chat_id, -100)

    assert await store.open_previews("progress") == []
