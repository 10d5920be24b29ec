"""What is kept of posts: a row a call, from the plan a person saw to the post's id."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.messages import Conversation


class PostState(StrEnum):
    """How far a post got. SENDING after a restart means that nobody saw its end."""

    PLANNED = "planned"
    SENDING = "sending"
    POSTED = "posted"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Post:
    """One post, keyed by the tool call that asked for it.

    Attributes:
        account: The name it goes out under, without @.
        fingerprint: Of what the card said, the picture's bytes included.
        post_id: X's own; empty until POSTED, and when only its existence is known.
        sent_at: When it was handed to X, seconds since the epoch.
    """

    call_id: str
    conversation: Conversation
    account: str
    text: str
    fingerprint: str
    planned_at: float
    state: PostState = PostState.PLANNED
    post_id: str = ""
    sent_at: float | None = None
    error: str = ""


class Posts(Protocol):
    """Posts, none sent twice."""

    async def plan_post(self, post: Post) -> Post:
        """Keep what a card says, in place of an earlier plan of the call; return the row as it stands."""
        ...

    async def post(self, call_id: str) -> Post | None: ...

    async def sending_post(self, call_id: str, at: float) -> bool:
        """Mark a planned post as about to be sent. True once per call, ever."""
        ...

    async def finish_post(
        self, call_id: str, state: PostState, *, post_id: str = "", error: str = ""
    ) -> None:
        """Note how a post ended. One that is POSTED stays so."""
        ...

    async def posts_since(self, since: float) -> list[Post]:
        """Return what was handed to X after a time, FAILED ones left out, oldest first."""
        ...
