"""Looking back: words, tokens, everything; which model was chosen; a copy of it all."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.clock import SettableClock
from bot.errors import StoreError
from bot.messages import AssistantMessage, Conversation, Message, ToolResult, Usage, UserMessage
from bot.store.base import Spending, Store
from tests.store.samples import HERE, TOPIC
from tests.store.second_process import SecondProcess

OTHER = Conversation(HERE.chat_id + 1)


async def said(store: Store, words: str) -> list[str]:
    found = await store.find_said(HERE.chat_id, words.split(), 10)
    return [hit.message.text for hit in found]


async def test_words_are_found_newest_first_whatever_their_case_and_accents(store: Store) -> None:
    await store.append(HERE, [UserMessage("O certificado é válido?"), AssistantMessage("Válido até maio.")])

    assert await said(store, "VALIDO") == ["Válido até maio.", "O certificado é válido?"]
    assert await said(store, "certif valid") == ["O certificado é válido?"]
    assert await said(store, "june") == []


async def test_what_is_said_after_a_search_is_found_by_the_next(store: Store) -> None:
    await store.append(HERE, [UserMessage("first")])
    await said(store, "first")

    await store.append(HERE, [AssistantMessage("a second first")])

    assert await said(store, "first") == ["a second first", "first"]


async def test_other_chats_and_tool_results_are_not_searched(store: Store) -> None:
    await store.append(OTHER, [UserMessage("secret plan")])
    await store.append(HERE, [ToolResult("c1", "secret output")])

    assert await said(store, "secret") == []


async def test_topics_and_what_a_reset_hides_are_searched(store: Store) -> None:
    await store.append(TOPIC, [UserMessage("in a topic")])
    await store.reset(TOPIC)

    [hit] = await store.find_said(TOPIC.chat_id, ["topic"], 10)

    assert hit.conversation == TOPIC


@pytest.mark.parametrize("words", ['"', '"a" OR', "NEAR(", "*", "-x", "text:a", "\ud83d", "", "(", "'"])
async def test_no_words_are_a_query_language(store: Store, words: str) -> None:
    await store.append(HERE, [UserMessage("nothing of that kind \ud83d")])

    assert await said(store, words) in ([], ["nothing of that kind \ud83d"])


async def test_everything_is_there_with_its_time_also_after_a_reset(
    store: Store, clock: SettableClock
) -> None:
    messages: list[Message] = [UserMessage("one"), AssistantMessage("two")]
    await store.append(HERE, messages)
    await store.reset(HERE)

    assert await store.everything(HERE) == [(clock(), message) for message in messages]
    assert await store.everything(OTHER) == []


async def test_tokens_are_summed_by_model_and_person(store: Store) -> None:
    await store.record_usage(HERE, "m-1", Usage(100, 10), at=5.0, user_id=7)
    await store.record_usage(HERE, "m-1", Usage(200, 20, cache_read=50), at=6.0, user_id=7)
    await store.record_usage(OTHER, "m-1", Usage(1, 1), at=6.0, user_id=8)
    await store.record_usage(OTHER, "m-2", Usage(5, 5), at=6.0)
    await store.record_usage(HERE, "m-1", Usage(900, 0), at=4.0, user_id=7)

    assert await store.spending(5.0) == [
        Spending("m-1", 7, (Usage(100, 10), Usage(200, 20, cache_read=50))),
        Spending("m-2", None, (Usage(5, 5),)),
        Spending("m-1", 8, (Usage(1, 1),)),
    ]


async def test_tokens_by_day_have_a_number_for_every_day(store: Store) -> None:
    for day, tokens in ((0, 5), (0, 6), (2, 7), (9, 100), (-1, 100)):
        await store.record_usage(HERE, "m-1", Usage(tokens), at=1_000_000 + day * 86_400.0)

    assert await store.spent_by_day(1_000_000, 4) == [11, 0, 7, 0]


async def test_names_are_the_last_ones(store: Store) -> None:
    await store.append(HERE, [UserMessage("a", 7, "Ann"), UserMessage("b", 8, "Bob"), UserMessage("c", None)])
    await store.append(OTHER, [UserMessage("d", 7, "Anna")])

    assert await store.names() == {7: "Anna", 8: "Bob"}


async def test_a_model_is_chosen_for_one_conversation(store: Store) -> None:
    await store.choose_model(HERE, "openai:gpt-5")

    assert (await store.conversation_state(HERE)).model == "openai:gpt-5"
    assert (await store.conversation_state(TOPIC)).model == ""


async def test_choosing_before_the_first_word_keeps_the_nonce(
    store: Store, second_process: SecondProcess
) -> None:
    begun = await store.conversation_state(HERE)

    await store.choose_model(HERE, "openai:gpt-5")

    assert begun.nonce in await second_process.sees(f"conversation_state({HERE!r})")


async def test_the_choice_moves_with_its_chat(store: Store) -> None:
    await store.choose_model(HERE, "openai:gpt-5")

    await store.migrate_chat(HERE.chat_id, -100)

    assert (await store.conversation_state(Conversation(-100, HERE.thread_id))).model == "openai:gpt-5"


async def test_a_backup_is_a_whole_private_database(store: Store, tmp_path: Path) -> None:
    await store.append(HERE, [UserMessage("one")])
    target = tmp_path / "backups" / "copy.db"

    await store.backup(target)

    with closing(sqlite3.connect(target)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM messages").fetchall() == [(1,)]
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["copy.db"]


async def test_a_backup_that_cant_be_written_leaves_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="cannot back up"):
        await store.backup(tmp_path / "file" / "copy.db")
