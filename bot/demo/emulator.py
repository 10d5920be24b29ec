"""The emulator: a world, its Bot API as an ASGI app, and the hands that move it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from bot.demo.api import Api
from bot.demo.calls import Call, Calls
from bot.demo.chats import Chat, Status
from bot.demo.clock import VirtualClock
from bot.demo.faults import Fault, Faults, refuse
from bot.demo.flood import Flood
from bot.demo.messages import User
from bot.demo.people import Person
from bot.demo.sim import sim_routes
from bot.demo.updates import Updates
from bot.demo.webhook import WebhookDelivery
from bot.demo.world import Settings, World, valid_token

if TYPE_CHECKING:
    import httpx

TOKEN = "4242424242:AAEmulatedTokenForTestsOnly_0123456789ab"  # noqa: S105 - nobody's secret


class Emulator:
    """A Telegram for one bot, in this process. See `bot.demo` for an example.

    Args:
        token: The only one accepted.
        username: The bot's, without @.
        name: The bot's first name.
        clock: The time all limits run on; the real time unless given.
        flood: Whether too many calls a second are answered 429. Off for benchmarks and speed tests.
        strict: Count text limits in UTF-16 units; otherwise in code points, as TDLib does.
        privacy: Whether the bot has privacy mode on.
        topics: Whether the bot has topics in private chats.
        ack_window: Seconds in which a press may be answered.
        calls_kept: How many API calls `calls` remembers.
        newest: Whether what came after Bot API 10.0 exists.
        repeats_slow_down: Whether a getUpdates that repeats its offset within 3 s is slowed, as it is.

    Attributes:
        app: The ASGI app: the Bot API, and the people's side as JSON under `/sim`.
        api_routes: The Bot API alone, for an app that lets people in by another door.
        world: The state itself.
        base_url: Where `serve` made it reachable; for in-process use any address does.
    """

    def __init__(
        self,
        token: str = TOKEN,
        *,
        username: str = "kai_test_bot",
        name: str = "Kai",
        clock: VirtualClock | None = None,
        flood: bool = True,
        strict: bool = True,
        privacy: bool = True,
        topics: bool = False,
        ack_window: float = 15.0,
        calls_kept: int = 10_000,
        newest: bool = True,
        repeats_slow_down: bool = True,
    ) -> None:
        if not valid_token(token):
            raise ValueError("a token looks like 123456:letters")
        self.clock = clock or VirtualClock()
        bot = User(int(token.partition(":")[0]), name, username=username, is_bot=True)
        self.world = World(
            token,
            bot,
            self.clock,
            Settings(strict, privacy, topics, ack_window, newest),
            Updates(self.clock, repeats_slow_down=repeats_slow_down),
            Flood(self.clock, flood),
            Calls(calls_kept),
        )
        self.world.users[bot.id] = bot
        self.clock.on_advance(self.world.updates.on_time_passed)
        self._people: dict[int, Person] = {}
        self._api = Api(self.world)
        self._webhook = WebhookDelivery(self.world, self._api.call)
        self.base_url = "http://telegram.test"
        self.api_routes: list[BaseRoute] = [
            Route("/bot{token}/{method}", self._api.answer, methods=["GET", "POST"]),
            Route("/file/bot{token}/{path:path}", self._api.download, methods=["GET"]),
            Route("/{path:path}", self._api.lost, methods=["GET", "POST"]),
        ]
        self.app = Starlette(routes=[*sim_routes(self), *self.api_routes])

    @property
    def token(self) -> str:
        return self.world.token

    @property
    def bot(self) -> User:
        """The bot itself, as a user."""
        return self.world.bot

    @property
    def faults(self) -> Faults:
        """Scripted faults; `fail` is the short way."""
        return self.world.faults

    @property
    def flood(self) -> Flood:
        """The flood control; `flood.block(30, chat_id)` makes a chat answer 429 for so long."""
        return self.world.flood

    @property
    def updates(self) -> Updates:
        """The bot's queue; `updates.push("message", {…})` puts in anything, also what no bot can read."""
        return self.world.updates

    def person(
        self,
        id: int,  # noqa: A002 - Telegram's own word
        name: str = "Alice",
        *,
        username: str = "",
        last_name: str = "",
        language: str = "",
        started: bool = False,
        is_bot: bool = False,
    ) -> Person:
        """Return the person with this id, made on first use.

        Args:
            id: Positive.
            name: First name.
            username: Without @.
            last_name: Last name.
            language: As `language_code`.
            started: Whether they have already opened the private chat; otherwise their first message does,
                and the bot cannot write to them before.
            is_bot: Another bot: what it writes in groups reaches people only.
        """
        if id not in self._people:
            user = User(id, name, username, last_name, language, is_bot=is_bot, started=started)
            self.world.users[id] = user
            self._people[id] = Person(self.world, user)
        return self._people[id]

    def people(self) -> list[Person]:
        """Return everybody, in the order they appeared."""
        return list(self._people.values())

    def group(
        self,
        id: int,  # noqa: A002
        title: str,
        members: Iterable[Person] = (),
        *,
        bot: Status = "member",
    ) -> Chat:
        """Return a new basic group; the first member owns it.

        Args:
            id: Negative, such as -500.
            title: Its name.
            members: People in it.
            bot: Our bot's status there; `left` when it is added later.
        """
        return self.world.add_chat(id, "group", title, members=self._members(members, bot))

    def supergroup(
        self,
        id: int,  # noqa: A002
        title: str,
        members: Iterable[Person] = (),
        *,
        forum: bool = False,
        username: str = "",
        bot: Status = "member",
    ) -> Chat:
        """Return a new supergroup, with topics if `forum`; the first member owns it.

        Args:
            id: Such as -1001557912345.
            title: Its name.
            members: People in it.
            forum: Whether it has topics; `Person.create_topic` makes one.
            username: Without @.
            bot: Our bot's status there.
        """
        return self.world.add_chat(
            id,
            "supergroup",
            title,
            members=self._members(members, bot),
            forum=forum,
            username=username,
        )

    def chat(self, id: int) -> Chat:  # noqa: A002
        """Return a chat that exists.

        Raises:
            KeyError: It does not.
        """
        return self.world.chats[id]

    def migrate(self, group: Chat, new_id: int, *, announce: bool = True) -> Chat:
        """Turn a group into a supergroup; without `announce` only the 400 of later calls tells the bot."""
        return self.world.migrate(group, new_id, announce=announce)

    def calls(self, method: str | None = None) -> list[Call]:
        """Return the calls of a method, or all but getUpdates, oldest first."""
        return self.world.calls.of(method)

    async def expect_call(
        self,
        method: str,
        within: float = 5.0,
        *,
        where: Callable[[Call], bool] = lambda call: True,
        after: int = 0,
    ) -> Call:
        """Wait for an answered API call.

        Args:
            method: Its name.
            within: Real seconds.
            where: What it must be like, such as `lambda call: call["chat_id"] == 7`.
            after: Skip so many calls of this method.

        Raises:
            AssertionError: It did not come.
        """
        call = await self.world.calls.expect(method, where, within, after)
        if call is None:
            raise AssertionError(f"no such {method} within {within} s")
        return call

    async def expect_all_taken(self, within: float = 5.0) -> None:
        """Wait until the bot has confirmed every update.

        Raises:
            AssertionError: Some are still there after so many real seconds.
        """
        taken = await self.updates.taken.until(lambda: not self.updates.waiting() or None, within)
        if not taken:
            raise AssertionError(f"{len(self.updates.waiting())} updates not taken within {within} s")

    async def expect_poll(self, within: float = 5.0) -> None:
        """Wait until a getUpdates waits for news: the bot is up, and has nothing more to fetch.

        Raises:
            AssertionError: None came within so many real seconds.
        """
        polling = await self.updates.polled.until(lambda: self.updates.polling or None, within)
        if not polling:
            raise AssertionError(f"no getUpdates waits within {within} s")

    def half_open(self) -> None:
        """Let the waiting getUpdates, or else the next one, hang for ever while everything else works."""
        self.updates.deafen()

    def fail(
        self,
        method: str,
        fault: Fault | int,
        *,
        times: int = 1,
        chat: Chat | None = None,
        retry_after: int | None = None,
        description: str = "",
    ) -> None:
        """Let the next calls of a method meet trouble.

        Args:
            method: Its name; `*` for any but getUpdates; `file` for downloads.
            fault: From `bot.demo.faults` (`slow`, `close`, `hang`, `refuse`), or an HTTP status.
            times: How many calls.
            chat: Only calls to this chat.
            retry_after: For a 429.
            description: The error's text.
        """
        if isinstance(fault, int):
            fault = refuse(fault, description, retry_after=retry_after)
        self.faults.add(method, fault, times=times, chat_id=None if chat is None else chat.id)

    def transport(self) -> "httpx.ASGITransport":
        """Return what connects a client in this process: no sockets, so no timeouts and no connect errors."""
        import httpx

        return httpx.ASGITransport(self.app)

    async def close(self) -> None:
        """End what runs in the background: a webhook's deliveries. The world stays as it is."""
        await self._webhook.close()

    def _members(self, people: Iterable[Person], bot: Status) -> dict[int, Status]:
        statuses: dict[int, Status] = {}
        for index, person in enumerate(people):
            statuses[person.id] = "member" if index else "creator"
        return statuses | {self.bot.id: bot}
