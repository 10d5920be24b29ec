"""The command lists a bot may set, and which one a person is offered."""

from dataclasses import dataclass, field

from bot.demo.chats import Chat
from bot.demo.messages import Json, User


@dataclass(slots=True)
class Commands:
    """The bot's command lists, by scope and language. https://core.telegram.org/bots/api#botcommandscope"""

    lists: dict[tuple[str, int, int, str], list[Json]] = field(default_factory=dict)

    def seen_by(self, user: User, chat: Chat, *, admin: bool) -> list[Json]:
        """Return the list a person is offered in a chat, by the documented order of scopes."""
        if chat.is_group:
            scopes = [("chat_member", chat.id, user.id)]
            scopes += [("chat_administrators", chat.id, 0)] if admin else []
            scopes += [("chat", chat.id, 0)]
            scopes += [("all_chat_administrators", 0, 0)] if admin else []
            scopes += [("all_group_chats", 0, 0), ("default", 0, 0)]
        else:
            scopes = [("chat", chat.id, 0), ("all_private_chats", 0, 0), ("default", 0, 0)]
        for scope in scopes:
            for language in dict.fromkeys([user.language[:2], ""]):
                if (*scope, language) in self.lists:
                    return self.lists[(*scope, language)]
        return []
