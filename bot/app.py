"""The composition root: the only place that names concrete classes and joins them."""

import asyncio
import contextlib
import fcntl
import getpass
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from telegram.error import InvalidToken, RetryAfter, TelegramError
from telegram.ext import ApplicationBuilder
from telegram.request import HTTPXRequest

from bot import clock
from bot.agent import Agent, Limits
from bot.agent.compaction import chars_for
from bot.agent.lanes import Lanes
from bot.agent.loop import no_news
from bot.agent.prompt import Soul
from bot.agent.steps import Calls
from bot.config import SETTINGS, Settings
from bot.errors import ConfigError, LLMError, StoreError
from bot.llm.base import LLMResponse, Prompt
from bot.llm.chosen import Chosen
from bot.llm.fallback import Fallback
from bot.llm.providers import build_client, keyed_providers, open_http, provider_problems, window_of
from bot.llm.transcribe import transcribe
from bot.messages import Conversation, Risk, ToolCall, ToolDefinition, UserMessage
from bot.notify import Notifier
from bot.redact import Redactor
from bot.safety import Gate, Rules, classify, describe, file_outside, load_rules, rules_version
from bot.safety.gate import Rule
from bot.store.base import AuditEvent, Effect
from bot.store.sqlite import SqliteStore
from bot.store.transfers import Transfer
from bot.telegram import commands
from bot.telegram.attachments import Attachments
from bot.telegram.commands.desk import Desk
from bot.telegram.commands.records import last_backup
from bot.telegram.drafts import Streams
from bot.telegram.face import App, TelegramFace
from bot.telegram.outbox import Outbox
from bot.telegram.people import People
from bot.telegram.poller import Poller
from bot.telegram.reactions import Reactions
from bot.telegram.recent_log import RecentLog
from bot.telegram.send_gate import Rates, SendGate, retry_after
from bot.telegram.status import Status
from bot.tools import Tools
from bot.tools.card import Preview
from bot.tools.credentials import Credentials
from bot.tools.environment import scrub
from bot.tools.family import delegated_cgroup
from bot.tools.post_twitter import Poster, post_twitter, x_api_url
from bot.tools.private_copy import copy_privately
from bot.tools.process import Commands
from bot.tools.sandbox import Places, Sandbox, credential_places, open_sandbox
from bot.tools.send_file import DeliverFile, send_file
from bot.tools.send_telegram import DeliverText, send_telegram
from bot.tools.settings import posts_on, tool_setting_names
from bot.tools.terminal import run_in_terminal
from bot.tools.transfer_wallet import transfer_wallet
from bot.tools.wallet import Wallet, WalletSettings, outcome_of
from bot.tools.web_search import web_search

log = logging.getLogger(__name__)

EXPIRE_EVERY = 5.0
PRUNE_EVERY = 86_400.0
OUTPUTS_KEPT = 7 * 86_400
FLUSH = 5.0
"""Seconds that a stopping bot still gives the outbox."""


@dataclass(frozen=True, slots=True)
class Kai:
    """The parts of a running bot that outlive a message."""

    settings: Settings
    app: App
    store: SqliteStore
    lanes: Lanes
    gate: SendGate
    outbox: Outbox
    poller: Poller
    face: TelegramFace
    notifier: Notifier
    receipts: Callable[[], Coroutine[None, None, None]] | None
    """Sees transfers to their end and tells of it, until cancelled; None without a wallet."""


async def run(
    settings: Settings, environ: Mapping[str, str], redactor: Redactor, *, env_file: Path = Path(".env")
) -> None:
    """Run the bot until SIGTERM or SIGINT.

    Args:
        env_file: Where settings may have come from; confined commands don't see it.

    Raises:
        ConfigError: Another process uses the state folder, or Telegram does not know the token.
        StoreError: The database can't be opened.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with assemble(settings, environ, redactor, env_file) as kai:
        await serve(kai, stopping)


@asynccontextmanager
async def assemble(
    settings: Settings,
    environ: Mapping[str, str],
    redactor: Redactor,
    env_file: Path = Path(".env"),
    *,
    now: clock.Clock = clock.system,
) -> AsyncIterator[Kai]:
    """Join the parts; open the store and the HTTP clients. Nothing is asked of the network yet."""
    async with AsyncExitStack() as stack:
        stack.enter_context(only_process(settings.state_dir))
        outputs = settings.state_dir / "outputs"
        store = await stack.enter_async_context(SqliteStore.open(settings.state_dir / "kai.db", clock=now))
        http = await stack.enter_async_context(open_http())
        people = People(settings.admin_ids, settings.allowed_ids).with_moves(await store.moved_chats())
        app = telegram_app(settings)
        gate = SendGate(Rates(overall=settings.send_rate))
        lanes = Lanes()
        models = (settings.llm_model, *settings.llm_fallbacks)
        usual = build_client(models, environ, http, tools_mode=settings.llm_tools, now=now)
        llm = Chosen(
            usual,
            lambda model: build_client((model,), environ, http, tools_mode=settings.llm_tools),
        )
        recent_log = RecentLog(redactor.redact)
        logging.getLogger().addHandler(recent_log)
        stack.callback(logging.getLogger().removeHandler, recent_log)

        async def deliver_text(conversation: Conversation, text: str) -> None:
            await deliver(conversation, "answer", text=redactor.redact(text))

        async def deliver_file(conversation: Conversation, path: Path, name: str) -> None:
            # A copy, so that what was judged is what is sent, however long that takes.
            copy = outputs / f"{os.urandom(8).hex()}{path.suffix}"
            await asyncio.to_thread(copy_privately, path, copy)
            await deliver(conversation, "file", path=str(copy), name=name)

        async def deliver(conversation: Conversation, kind: str, **payload: object) -> None:
            key = f"{kind}:{os.urandom(8).hex()}"
            await store.enqueue([Effect(key, conversation, kind, payload)])

        wallet_settings = read_wallet(environ, settings.state_dir)
        credentials = Credentials(wallet_settings.credentials_dir, learn=redactor.add)
        for secret in (*credentials.values(), *wallet_settings.secrets):
            redactor.add(secret)
        wallet: Wallet | None = None
        if wallet_settings.on:
            wallet = Wallet(
                settings=wallet_settings, store=store, http=http, credentials=credentials, now=now
            )
        poster: Poster | None = None
        if posts_on(credentials):
            api_url, _ = x_api_url(environ)
            work_dir = settings.work_dir
            poster = Poster(
                store=store, http=http, credentials=credentials, work_dir=work_dir, api_url=api_url, now=now
            )

        async def tell_receipt(transfer: Transfer, text: str) -> None:
            payload = {"text": redactor.redact(text)}
            effect = Effect(f"receipt:{transfer.call_id}", transfer.conversation, "notice", payload)
            await store.enqueue([effect])
            await store.correct_outcome(transfer.call_id, redactor.redact(outcome_of(transfer)))

        secrets = (*credential_places(environ, env_file), credentials.folder)
        places = Places(settings.work_dir, settings.state_dir, outputs, secrets, settings.sandbox_user)
        sandbox = open_sandbox(settings.sandbox, places)
        if sandbox.problem:
            log.warning("sandbox: %s", sandbox)
        unseen = (*SETTINGS, *tool_setting_names())
        shell = Commands(scrub(environ, unseen), cgroup=delegated_cgroup(), sandbox=sandbox)
        stack.push_async_callback(shell.close)
        rules = rules_in_force(settings.state_dir, env_file, credentials.folder)

        def may_write_to(chat_id: int) -> bool:
            return face.people.may_write_to(chat_id)  # as the lists are by then: a group may have moved

        tools = all_tools(shell, deliver_text, deliver_file, may_write_to, wallet, poster)
        calls = Calls(
            tools=tools,
            gate=Gate(
                partial(classify, rules=rules),
                {
                    "send_file": file_outside(settings.work_dir, settings.state_dir, outputs),
                    **unconfined(sandbox),
                },
                version=rules_version(settings.state_dir / "rules.d"),
            ),
            store=store,
            redactor=redactor,
            ask_where=lambda conversation, asker: face.people.ask_where(conversation, asker),
            work_dir=settings.work_dir,
            output_dir=outputs,
            approval_ttl=settings.approval_ttl,
            tool_timeout=settings.tool_timeout,
            result_chars=settings.result_chars,
            language=settings.language,
            now=now,
        )
        agent = Agent(
            llm=llm,
            calls=calls,
            store=store,
            soul=Soul(settings.soul_file),
            redactor=redactor,
            limits=Limits(
                max_steps=settings.max_steps,
                turn_timeout=settings.turn_timeout,
                turn_tokens=settings.turn_tokens or 0,
                daily_tokens=settings.daily_tokens or 0,
                window_chars=chars_for(window_of([settings.llm_model], environ)),
            ),
            user=getpass.getuser(),
            work_dir=settings.work_dir,
            credentials=credentials.names(),
            news=wallet.news if wallet else no_news,
            language=settings.language,
            now=now,
        )
        streams = Streams(
            bot=app.bot, gate=gate, store=store, redact=redactor.redact, on=settings.stream == "on"
        )
        outbox = Outbox(
            bot=app.bot,
            store=store,
            gate=gate,
            language=settings.language,
            redact=redactor.redact,
            undeliverable=lambda approval_id: face.deny_undeliverable(approval_id),
            migrated=lambda old, new: face.migrate(old, new),
            card_shown=lanes.wake,
            settle=streams.settle,
            sandbox=sandbox.level if sandbox.means else "",
            revert_after=settings.revert_after,
        )
        attachments = Attachments(
            app.bot,
            settings.work_dir / "inbox",
            language=settings.language,
            transcribe=partial(
                transcribe,
                http,
                settings.transcribe_url,
                environ.get("TRANSCRIBE_API_KEY", ""),
                settings.transcribe_model,
            )
            if settings.transcribe_url
            else None,
        )
        reactions = Reactions(app.bot, gate, on=settings.reactions == "on")
        stack.push_async_callback(reactions.close)
        poller = Poller(bot=app.bot, inbox=store, handle=lambda update: face.handle(update), now=now)
        status = Status(
            store=store,
            lanes=lanes,
            gate=gate,
            poller=poller,
            model=" → ".join(models),
            links=usual.links if isinstance(usual, Fallback) else lambda: (),
            language=settings.language,
            work_dir=settings.work_dir,
            started_at=now(),
            now=now,
            last_backup=lambda: last_backup(settings.state_dir / "backups"),
            notes=lambda: (
                [f"Sandbox: {sandbox}", *rules_notes(rules)]
                + (
                    [f"The database was damaged and put aside: {store.quarantined}"]
                    if store.quarantined
                    else []
                )
            ),
        )
        face = TelegramFace(
            app=app,
            agent=agent,
            store=store,
            lanes=lanes,
            gate=gate,
            streams=streams,
            attachments=attachments,
            desk=Desk(
                tools=tools.definitions,
                models=tuple(dict.fromkeys(models)),
                keyed=lambda: keyed_providers(environ),
                model_problems=lambda model: provider_problems((model,), environ),
                log=recent_log.lines,
                files=outputs,
                backups=settings.state_dir / "backups",
                wallet=wallet,
            ),
            reactions=reactions,
            people=people,
            status=status,
            policy=lambda command, cwd: describe(command, cwd=cwd, rules=rules),
            language=settings.language,
            redact=redactor.redact,
            revert_after=settings.revert_after,
            now=now,
        )
        receipts = partial(wallet.watch, tell_receipt) if wallet else None
        yield Kai(settings, app, store, lanes, gate, outbox, poller, face, Notifier(environ), receipts)


def read_wallet(environ: Mapping[str, str], state_dir: Path) -> WalletSettings:
    """Return what the operator chose about money.

    Raises:
        ConfigError: Some of it is wrong.
    """
    settings, problems = WalletSettings.read(environ, state_dir=state_dir)
    if problems:
        raise ConfigError(*problems)
    return settings


def rules_in_force(state_dir: Path, env_file: Path, credentials_dir: Path) -> Rules:
    """Return the rules with the operator's from `rules.d`; what the bot keeps is high to touch."""
    kept = [state_dir / name for name in ("kai.db", "kai.db-wal", "kai.db-shm", "lock", "rules.d", "backups")]
    own = [*kept, credentials_dir]
    if env_file.is_file():  # not /dev/null, which is everybody's
        own.append(env_file.absolute())
    return load_rules(state_dir / "rules.d", own_paths=map(str, own))


def rules_notes(rules: Rules) -> list[str]:
    """Return what `/status` must say of the operator's rules."""
    notes = [f"⚠️ Every command asks: {rules.problem}"] if rules.problem else []
    return notes + ([f"Rules lowered by the operator: {', '.join(rules.lowered)}"] if rules.lowered else [])


def unconfined(sandbox: Sandbox) -> Mapping[str, Rule]:
    """Return a rule that has every command ask where the sandbox that was set can't be had; else none."""

    def ask(call: ToolCall, conversation: Conversation, cwd: str) -> tuple[Risk, tuple[str, ...]]:
        return Risk.HIGH, (
            f"every command asks, for SANDBOX={sandbox.level} can't be had: {sandbox.problem}",
        )

    return {"run_in_terminal": ask} if sandbox.problem else {}


def all_tools(
    shell: Commands,
    deliver_text: DeliverText,
    deliver_file: DeliverFile,
    may_write_to: Callable[[int], bool],
    wallet: Wallet | None = None,
    poster: Poster | None = None,
) -> Tools:
    """Every tool the model is offered: one line each, and one for what its card says beforehand."""
    tools = [
        run_in_terminal(shell),
        web_search(),
        send_telegram(deliver_text, may_write_to),
        send_file(deliver_file),
    ]
    previews: dict[str, Preview] = {}
    if wallet:
        tools.append(transfer_wallet(wallet))
        previews["transfer_wallet"] = wallet.preview
    if poster:
        tools.append(post_twitter(poster))
        previews["post_twitter"] = poster.preview
    return Tools(tools, previews)


def tool_definitions() -> Sequence[ToolDefinition]:
    """Return the definitions of the bot's own tools, without anything they would act on."""

    async def nowhere(*_: object) -> None:
        raise AssertionError("a definition does not act")

    return all_tools(Commands({}), nowhere, nowhere, lambda _: False).definitions


async def serve(kai: Kai, stopping: asyncio.Event) -> None:
    """Connect, take up what was left, and work until told to stop.

    Raises:
        ConfigError: Telegram does not know the token.
    """
    await connect(kai, stopping)
    if stopping.is_set():
        return
    log.info("connected as @%s, model %s", kai.app.bot.username, kai.settings.llm_model)
    await note_start(kai)
    if kai.store.quarantined:
        await tell_admins(kai, f"⚠️ The database was damaged and put aside: {kai.store.quarantined}")
    await end_grants_of_former_admins(kai)
    await kai.face.recover()
    tasks = {
        asyncio.create_task(kai.poller.run(), name="poller"),
        asyncio.create_task(kai.outbox.run(), name="outbox"),
        asyncio.create_task(expire_questions(kai.face), name="expiry"),
        asyncio.create_task(prune_outputs(kai.settings.state_dir / "outputs", kai.face.now), name="pruning"),
        asyncio.create_task(feed_watchdog(kai), name="watchdog"),
        asyncio.create_task(publish_commands(kai), name="menus"),
    }
    if kai.receipts:
        tasks.add(asyncio.create_task(kai.receipts(), name="receipts"))
    kai.notifier.ready()
    stop = asyncio.create_task(stopping.wait(), name="stop")
    try:
        while not stop.done():
            done, _ = await asyncio.wait({*tasks, stop}, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {stop}:
                tasks.discard(task)
                if isinstance(error := task.exception(), InvalidToken):
                    raise ConfigError("TELEGRAM_BOT_TOKEN: telegram does not know this token (401)")
                if error is not None:
                    raise error
    finally:
        kai.notifier.stopping()
        await shut_down(kai, [*tasks, stop])


async def connect(kai: Kai, stopping: asyncio.Event) -> None:
    """Ask Telegram who we are, again and again while it can't be reached."""
    pause = 0.5
    while not stopping.is_set():
        try:
            await kai.app.initialize()
        except InvalidToken as exc:
            raise ConfigError("TELEGRAM_BOT_TOKEN: telegram does not know this token (401)") from exc
        except TelegramError as exc:
            wait = retry_after(exc) if isinstance(exc, RetryAfter) else pause
            log.warning("telegram can't be reached, next try in %g s: %s", wait, exc)
            kai.notifier.status(f"telegram can't be reached: {exc}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), wait)
            pause = min(30.0, pause * 2)
        else:
            return


async def shut_down(kai: Kai, tasks: list[asyncio.Task[object] | asyncio.Task[None]]) -> None:
    """Stop receiving, cut turns short (they are taken up at the next start), send what is ready."""
    by_name = {task.get_name(): task for task in tasks}
    for name in ("poller", "menus", "expiry", "pruning", "receipts", "watchdog", "stop"):
        if task := by_name.get(name):
            task.cancel()
    await kai.lanes.close()
    await kai.face.decisions.close(FLUSH)
    await kai.outbox.flush(FLUSH)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await kai.gate.close()
    await kai.app.shutdown()


async def end_grants_of_former_admins(kai: Kai) -> None:
    """Whoever may not approve any more has no standing approvals either."""
    for grant in await kai.store.grants(kai.face.now()):
        if not kai.face.people.may_decide(grant.given_by):
            await kai.store.revoke(grant.id, at=kai.face.now(), by=None)


async def note_start(kai: Kai) -> None:
    """Put the start into the audit; a full disk must not keep the bot from saying so itself."""
    try:
        await kai.store.record(AuditEvent(kai.face.now(), "started"))
    except StoreError as exc:
        log.error("nothing can be stored: %s", exc)


async def expire_questions(face: TelegramFace) -> None:
    while True:
        try:
            await face.expire()
        except StoreError as exc:
            log.error("nothing can be stored: %s", exc)
        await asyncio.sleep(EXPIRE_EVERY)


async def prune_outputs(folder: Path, now: clock.Clock) -> None:
    while True:
        await asyncio.to_thread(forget_old_outputs, folder, now())
        await asyncio.sleep(PRUNE_EVERY)


async def feed_watchdog(kai: Kai) -> None:
    """Tell systemd that we live: only while polls end, well or not, so that a hung poller is restarted."""
    interval = kai.notifier.watchdog_interval
    if interval is None:
        return
    while True:
        if kai.poller.is_alive():
            kai.notifier.watchdog()
            trouble = kai.poller.trouble
            kai.notifier.status(trouble or f"polling as @{kai.app.bot.username}")
        await asyncio.sleep(interval)


async def check(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str | Exception]]:
    """Reach Telegram and every model of the chain once; return what each said, or why it could not."""
    results: list[tuple[str, str | Exception]] = []
    app = telegram_app(settings)
    try:
        await app.initialize()
        results.append(("telegram", f"ok, this is @{app.bot.username}"))
        await app.shutdown()
    except TelegramError as exc:
        wrong = isinstance(exc, InvalidToken)
        results.append(
            ("telegram", ConfigError("TELEGRAM_BOT_TOKEN is not known to telegram") if wrong else exc)
        )
    credentials = Credentials(read_wallet(environ, settings.state_dir).credentials_dir)
    results += [("credentials", ConfigError(problem)) for problem in credentials.problems()]
    async with open_http() as http:
        for model in (settings.llm_model, *settings.llm_fallbacks):
            client = build_client((model,), environ, http, tools_mode=settings.llm_tools)
            prompt = Prompt("Answer with one word.", [UserMessage("Say: ready")])
            try:
                async with asyncio.timeout(60):
                    said = [event async for event in client.stream(prompt)]
            except (LLMError, TimeoutError) as exc:
                results.append((f"model {model}", exc))
            else:
                answer = said[-1].message.text if isinstance(said[-1], LLMResponse) else ""
                tools = "native" if client.supports_native_tools else "text"
                results.append((f"model {model}", f"ok, {tools} tools, it said {answer.strip()[:40]!r}"))
    return results


async def publish_commands(kai: Kai) -> None:
    await commands.publish(kai.app.bot, kai.settings.language, sorted(kai.settings.admin_ids))


async def tell_admins(kai: Kai, text: str) -> None:
    await kai.store.enqueue(
        [
            Effect(f"admins:{os.urandom(8).hex()}:{admin}", Conversation(admin), "notice", {"text": text})
            for admin in sorted(kai.settings.admin_ids)
        ]
    )


def telegram_app(settings: Settings) -> App:
    """Build python-telegram-bot's Application without its Updater: we poll ourselves."""
    # Waits come as timedelta instead of a deprecation warning: https://docs.python-telegram-bot.org/ (v22.2)
    os.environ.setdefault("PTB_TIMEDELTA", "1")
    # The pool looks at every open connection for each request, so it is kept small; sends are short.
    requests = [
        HTTPXRequest(connection_pool_size=16, connect_timeout=10, read_timeout=20, pool_timeout=30)
        for _ in range(2)
    ]
    return (
        ApplicationBuilder()
        .token(settings.telegram_bot_token)
        .base_url(f"{settings.telegram_api_url}/bot")
        .base_file_url(f"{settings.telegram_api_url}/file/bot")
        .request(requests[0])
        .get_updates_request(requests[1])
        .updater(None)
        .job_queue(None)
        .build()
    )


@contextlib.contextmanager
def only_process(state_dir: Path) -> Iterator[None]:
    """Hold the state folder; the lock goes with the process, however it ends.

    Raises:
        ConfigError: Another process holds it, or it can't be used.
    """
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (state_dir / "lock").open("a")
    except OSError as exc:
        raise ConfigError(f"STATE_DIR {str(state_dir)!r} can't be used: {exc.strerror}") from exc
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise ConfigError(f"STATE_DIR {str(state_dir)!r} is in use by another kai-bot") from exc
        yield


def forget_old_outputs(folder: Path, now: float) -> None:
    """Delete whole outputs that nobody asked for in a week."""
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > OUTPUTS_KEPT:
                path.unlink()
