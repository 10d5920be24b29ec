"""Who may talk, who may decide, and where questions go. Everything is judged by user id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.messages import Conversation

ANONYMOUS_ADMIN = 1087968824
"""GroupAnonymousBot: whoever hides behind it can't be told apart. https://core.telegram.org/bots/api#user"""


@dataclass(frozen=True, slots=True)
class People:
    """The lists of the owner.

    Attributes:
        admins: User ids that may approve and use admin commands.
        allowed: Further user ids, and group ids (negative) whose members may talk there.
    """

    admins: frozenset[int]
    allowed: frozenset[int] = frozenset()

    def may_talk(self, user_id: int | None, chat_id: int) -> bool:
        if user_id is None or user_id == ANONYMOUS_ADMIN:
            return False
        return user_id in self.admins or user_id in self.allowed or (chat_id < 0 and chat_id in self.allowed)

    def may_decide(self, user_id: int | None) -> bool:
        return user_id in self.admins

    def ask_where(self, conversation: Conversation, asker_id: int | None) -> Sequence[Conversation]:
        """Return where the cards of a question go: here when an admin sees this chat, else to the admins.

        A group is taken to have an admin in it when an admin asks there or the group is on the list.
        """
        here = conversation.chat_id
        if here in self.admins or (here < 0 and (asker_id in self.admins or here in self.allowed)):
            return (conversation,)
        return tuple(Conversation(admin) for admin in sorted(self.admins))

    def may_write_to(self, chat_id: int) -> bool:
        """Whether a chat is on the lists: an admin's or listed person's own, or a group."""
        return chat_id in self.admins or chat_id in self.allowed

    def with_moves(self, moves: Mapping[int, int]) -> "People":
        """Return the lists with every group under the id it has now."""
        people, group = self, next((old for old in moves if old in self.allowed), None)
        while group is not None and moves[group] != group:
            people = people.migrated(group, moves[group])
            group = next((old for old in moves if old in people.allowed), None)
        return people

    def migrated(self, old: int, new: int) -> "People":
        """Return the lists after a group got a new id."""
        if old not in self.allowed:
            return self
        return People(self.admins, self.allowed - {old} | {new})
