"""Who may talk, who may decide, where questions go (T1, T2, design 12)."""

import pytest

from bot.messages import Conversation
from bot.telegram.people import ANONYMOUS_ADMIN, People

ADMIN, FRIEND, STRANGER = 5, 6, 9
GROUP, OTHER_GROUP = -500, -600
PEOPLE = People(frozenset({ADMIN, 4}), frozenset({FRIEND, GROUP}))


@pytest.mark.parametrize(
    ("user", "chat", "may"),
    [
        (ADMIN, ADMIN, True),
        (ADMIN, OTHER_GROUP, True),
        (FRIEND, FRIEND, True),
        (FRIEND, OTHER_GROUP, True),
        (STRANGER, STRANGER, False),
        (STRANGER, GROUP, True),
        (STRANGER, OTHER_GROUP, False),
        (None, GROUP, False),
        (ANONYMOUS_ADMIN, GROUP, False),
    ],
)
def test_who_may_talk_is_judged_by_user_and_listed_group(user: int | None, chat: int, may: bool) -> None:
    assert PEOPLE.may_talk(user, chat) is may


def test_a_user_id_on_the_list_opens_no_private_chat_of_somebody_else() -> None:
    assert not PEOPLE.may_talk(STRANGER, FRIEND)


@pytest.mark.parametrize(
    ("user", "may"), [(ADMIN, True), (FRIEND, False), (STRANGER, False), (None, False), (GROUP, False)]
)
def test_only_admins_decide(user: int | None, may: bool) -> None:
    assert PEOPLE.may_decide(user) is may


@pytest.mark.parametrize("chat", [ADMIN, GROUP, OTHER_GROUP])
def test_what_an_admin_asked_for_is_asked_where_they_are(chat: int) -> None:
    here = Conversation(chat, 3)

    assert PEOPLE.ask_where(here, ADMIN) == (here,)


def test_in_a_listed_group_the_question_is_asked_there() -> None:
    assert PEOPLE.ask_where(Conversation(GROUP, 3), STRANGER) == (Conversation(GROUP, 3),)


@pytest.mark.parametrize(("chat", "asker"), [(FRIEND, FRIEND), (OTHER_GROUP, FRIEND), (FRIEND, None)])
def test_otherwise_every_admin_is_asked_in_private(chat: int, asker: int | None) -> None:
    assert PEOPLE.ask_where(Conversation(chat), asker) == (Conversation(4), Conversation(ADMIN))


def test_without_admins_nobody_is_asked() -> None:
    assert People(frozenset()).ask_where(Conversation(FRIEND), FRIEND) == ()


def test_only_chats_on_the_lists_are_written_to() -> None:
    assert all(map(PEOPLE.may_write_to, (ADMIN, 4, FRIEND, GROUP)))
    assert not PEOPLE.may_write_to(STRANGER)


def test_group_migrate_a_listed_group_stays_listed_under_its_new_id() -> None:
    moved = PEOPLE.migrated(GROUP, -1001)

    assert moved.may_talk(STRANGER, -1001)
    assert not moved.may_talk(STRANGER, GROUP)


def test_a_group_that_was_not_listed_is_not_listed_by_moving() -> None:
    assert PEOPLE.migrated(OTHER_GROUP, -1001) == PEOPLE
