"""The wallet: what a transfer would do, doing it once, and seeing it to its end.

A transfer is planned when a card is made, signed and stored when it was approved, and from then on only the
stored bytes are ever sent. Bytes that were sent twice pay once.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import httpx

from bot import clock
from bot.errors import ToolError
from bot.messages import Conversation, Notice, ToolCall, Transcript
from bot.store.transfers import UNRESOLVED, Transfer, Transfers, TransferState
from bot.tools.card import CardDetails, CardLine
from bot.tools.credentials import Credentials
from bot.tools.wallet.addresses import bad_address, evm_address
from bot.tools.wallet.amounts import plain, read_amount, show_amount
from bot.tools.wallet.chains import Chain, Token, find_chain
from bot.tools.wallet.evm import Evm
from bot.tools.wallet.limits import Limit, find_limit, limit_named
from bot.tools.wallet.network import Fate, Network, Order, Simulation
from bot.tools.wallet.news import BEGINNINGS, unread
from bot.tools.wallet.settings import WalletSettings
from bot.tools.wallet.solana import Solana

log = logging.getLogger(__name__)

WAIT = 20.0
"""Seconds a call waits for the receipt before it says "pending"."""
POLL = 2.0
DOUBT = 60.0
"""Seconds for which nodes must go on saying that nothing came of a transfer. One address is many machines,
and one that lags, or whose newest block is dropped, says so of what is paid: whoever then pays again pays
twice."""
SLOWEST_POLL = 60.0
NEWEST = 20
"""Transfers of a conversation that the model is told of when they end: older ones ended long ago."""
TROUBLED = 5
"""Polls to wait after something went wrong that is not of one chain."""
NEW_RECIPIENT = "the recipient is not on your list (WALLET_RECIPIENTS)"

Tell = Callable[[Transfer, str], Awaitable[None]]
"""Commits a notice of how a transfer ended to its conversation; has done so when it returns. May be called
again for the same transfer, with the same text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a call, as the model wrote them; `token` may be empty."""

    to_address: str
    amount: str
    chain: str
    token: str = ""


class Wallet:
    """Everything that moves money. One for the process: its locks keep two chats off one nonce.

    Args:
        wait: Seconds a call waits for its receipt.
        poll: Seconds between two looks at a transfer that was just sent; older ones are looked at less often.
        doubt: Seconds for which nodes must go on saying that nothing came of a transfer.
    """

    def __init__(
        self,
        *,
        settings: WalletSettings,
        store: Transfers,
        http: httpx.AsyncClient,
        credentials: Credentials,
        now: clock.Clock = clock.system,
        wait: float = WAIT,
        poll: float = POLL,
        doubt: float = DOUBT,
    ) -> None:
        self._settings = settings
        self._store = store
        self._now = now
        self._wait = wait
        self._poll = poll
        self._doubt = doubt
        self._doubted_since: dict[str, float] = {}
        self._networks: dict[str, Network] = {}
        kinds: Mapping[str, type[Evm] | type[Solana]] = {"evm": Evm, "solana": Solana}
        for name, urls in settings.rpc_urls.items():
            chain = settings.chains[name]
            self._networks[name] = kinds[chain.kind](chain, urls, http, credentials)
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._changed = asyncio.Event()

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The chains that are set up, in the table's order."""
        return tuple(name for name in self._settings.chains if name in self._networks)

    def network(self, chain: str) -> Network:
        """Return a chain that is set up, by name. Raises KeyError."""
        return self._networks[chain]

    async def preview(self, call: ToolCall, conversation: Conversation, cwd: Path) -> CardDetails:
        """Find out what the transfer would do now, and keep that as its plan; see `bot.tools.card.Preview`.

        Raises:
            ToolError: It can't be made: bad arguments, over a limit (`Denied`), a dry run that fails, no key
                or node (`NotConfigured`), or it was made already (`Duplicate`).
        """
        order, warning = await self._order(asked_by(call))
        limit, left = await self._allowance(order)
        simulation = await self._simulate(order)
        name = self._settings.recipient_name(order.chain, order.recipient)
        same = fingerprint(order, simulation, name)
        ceiling = simulation.fee_ceiling
        promised: tuple[int, int] | None = None
        earlier = await self._store.transfer(call.id)
        if earlier and earlier.state is not TransferState.PLANNED:
            raise ToolError("Duplicate", f"this call's transfer was signed already: {self.report(earlier)}")
        if earlier and _same(earlier, same) and simulation.fee_needed <= earlier.fee_ceiling:
            ceiling, promised = earlier.fee_ceiling, promise_of(earlier)
        after = balances_after(order, simulation, ceiling)
        if promised and after[0] >= promised[0] and after[1] >= promised[1]:
            after = promised  # "at least" still holds
        plan = Transfer(
            call_id=call.id,
            conversation=conversation,
            chain=order.chain.name,
            sender=order.sender,
            recipient=order.recipient,
            symbol=order.token.symbol,
            contract=order.token.contract,
            decimals=order.token.decimals,
            units=order.units,
            fee_ceiling=ceiling,
            fingerprint=":".join(map(str, (same, ceiling, *after))),
            planned_at=self._now(),
        )
        await self._store.plan(plan)
        warnings = [warning, *simulation.warnings, *await self._on_its_way(order, call.id)]
        if not order.token.known:
            warnings.append(f"this token is not in Kai's table; it calls itself {order.token.symbol!r}")
        return CardDetails(
            lines=(
                *self._order_lines(order, after, name, ceiling),
                CardLine("Limits", self._limit_line(limit, left - plan.amount, order.token)),
                CardLine("Paid before", _times(await self._store.times_paid(plan.chain, plan.recipient))),
            ),
            warnings=tuple(filter(None, warnings)),
            second_step=NEW_RECIPIENT if name is None else "",
            fingerprint=plan.fingerprint,
        )

    async def transfer(self, call_id: str, asked: Asked) -> str:
        """Make the planned transfer of a call, or see to the one it made before; return what became of it.

        Raises:
            ToolError: Nothing was signed (`not_executed`, `Denied`, …), or it was and failed (`EIO`), or
                nobody knows (`UnknownError`); the message says which.
        """
        plan = await self._store.transfer(call_id)
        if plan is None:
            raise ToolError("not_executed", "nobody was shown what this would do; nothing was signed")
        # A stop in the middle would leave signed bytes unsent, and the person believing it was stopped.
        paying = asyncio.create_task(self._pay(plan, asked))
        paying.add_done_callback(self._paid)
        try:
            transfer = await self._receipt(await asyncio.shield(paying))
        finally:
            self._changed.set()
        return self._result(transfer)

    async def watch(self, tell: Tell) -> None:
        """See every signed transfer to its end and tell of it; runs until cancelled.

        After a start it sends again the bytes of whatever had no end.
        """
        while True:
            self._changed.clear()
            pauses: list[float] = []
            try:
                for transfer in await self._store.unresolved():
                    followed = await self._follow(transfer)
                    pauses += [self._pause(followed)] if followed.state in UNRESOLVED else []
                for transfer in await self._store.untold():
                    pauses += [] if await self._tell(tell, transfer) else [self._poll * TROUBLED]
            except Exception:
                # Whatever it is, money is on its way: the next round looks again.
                log.exception("watching transfers failed")
                pauses = [self._poll * TROUBLED]
            try:
                async with asyncio.timeout(min(pauses, default=None)):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def limits(self) -> str:
        """Return what may be sent and what is used of it, for `/limits`; plain text."""
        lines = []
        for name in sorted(self._settings.max_transfer.keys() & self._settings.max_day.keys()):
            settings = self._settings
            limit = limit_named(name, settings.max_transfer, settings.max_day, tuple(settings.chains))
            used = await self._store.paid(limit.of_day(named_token(name), self._now()))
            each, day = plain(limit.per_transfer), plain(limit.per_day)
            lines.append(f"{name}: {each} a transfer, {plain(used)} of {day} used in 24 hours")
        lines = lines or self._settings.limit_lines()
        listed = [f"{name or '(no name)'} {written}" for name, written in self._settings.recipients.values()]
        return "\n".join([*lines, "", "Recipients on the list:", *(listed or ["none: each needs two steps"])])

    async def transfers(self, count: int = 10) -> str:
        """Return the newest transfers, newest first, with links, for `/transfers`; plain text."""
        recent = await self._store.recent(count)
        return "\n\n".join(map(self.report, recent)) or "Nothing was ever sent."

    async def news(self, conversation: Conversation, transcript: Transcript) -> list[Notice]:
        """Return what became of the conversation's transfers since the transcript last said, oldest first."""
        recent = await self._store.recent(NEWEST, conversation)
        return unread(reversed(recent), transcript, self.report)

    def report(self, transfer: Transfer) -> str:
        """Return how a transfer stands, in a few lines with its link; plain text."""
        chain = self._settings.chains.get(transfer.chain)
        amount = f"{show_amount(transfer.units, transfer.decimals)} {transfer.symbol}"
        what = f"{amount} to {transfer.recipient} on {transfer.chain}"
        name = self._settings.recipient_name(chain, transfer.recipient) if chain else None
        what += f" ({name})" if name else ""
        fee = ""
        if chain and transfer.fee is not None:
            fee = f", fee {show_amount(transfer.fee, chain.native.decimals)} {chain.native.symbol}"
        how = BEGINNINGS.get(transfer.state, "planned")
        match transfer.state:
            case TransferState.MINED:
                line = f"{how}: {what}, block {transfer.block}{fee}"
            case TransferState.FAILED:
                line = f"{how}: {what}: {transfer.error}{fee}"
            case TransferState.UNKNOWN:
                line = f"{how}: {what}: {transfer.error}; it is still being looked for"
            case _:
                line = f"{how}: {what}"
        link = chain.link(transfer.tx_hash) if chain and transfer.tx_hash else ""
        return "\n".join(filter(None, [line, f"hash {transfer.tx_hash}" if transfer.tx_hash else "", link]))

    async def _tell(self, tell: Tell, transfer: Transfer) -> bool:
        """Tell how a transfer ended; return whether that worked, for others wait to be told of theirs."""
        try:
            await tell(transfer, self.report(transfer))
            await self._store.told(transfer.call_id)
        except Exception:
            log.exception("a receipt can't be told: transfer %s", transfer.tx_hash)
            return False
        return True

    async def _order(self, asked: Asked) -> tuple[Order, str]:
        """Return the checked order, and a warning about the address or nothing."""
        chain = find_chain(self._settings.chains, asked.chain)
        network = self._networks.get(chain.name)
        if network is None:
            raise ToolError("NotConfigured", f"no node of {chain.name} is set up: set {chain.rpc_setting}")
        sender = await network.sender()
        recipient, warning = network.address(asked.to_address)
        if recipient == sender:
            raise bad_address("to_address", "is the wallet's own")
        token = await network.token(asked.token)
        if recipient in {token.contract, *(known.contract for known in chain.tokens.values())}:
            raise bad_address("to_address", "is a token's contract: what is sent there is lost")
        return Order(chain, token, read_amount(asked.amount, token.decimals), sender, recipient), warning

    async def _allowance(self, order: Order) -> tuple[Limit, Decimal]:
        """Return the limit and what is left of the day; raises `Denied` when the order does not fit."""
        limit = self._find_limit(order.chain, order.token)
        asset = order.token.symbol if order.token.known else order.token.contract
        if limit is None:
            raise ToolError(
                "NotConfigured",
                f"no limits are set for {asset} on {order.chain.name}, so none may be sent:"
                f" WALLET_MAX_TRANSFER and WALLET_MAX_DAY need {asset}=AMOUNT"
                + ("" if order.token.known else f", as {asset}@{order.chain.name}=AMOUNT"),
            )
        amount = amount_of(order)
        if amount > limit.per_transfer:
            raise ToolError(
                "Denied",
                f"{plain(amount)} {order.token.symbol} is over the limit of a transfer,"
                f" {plain(limit.per_transfer)}; only the operator can change it. Don't split it",
            )
        left = limit.per_day - await self._store.paid(limit.of_day(order.token, self._now()))
        if amount > left:
            raise over_day(order, left)
        return limit, left

    def _find_limit(self, chain: Chain, token: Token) -> Limit | None:
        settings = self._settings
        return find_limit(chain, token, settings.max_transfer, settings.max_day, tuple(settings.chains))

    async def _simulate(self, order: Order) -> Simulation:
        for other in await self._store.unresolved(order.chain.name, order.sender):
            if other.state is TransferState.UNKNOWN:
                # Its nonce may be free or taken: what comes after it could be lost or come first.
                raise ToolError(
                    "EBUSY", f"an earlier transfer must be cleared up first: {self.report(other)}"
                )
        return await self._networks[order.chain.name].simulate(order)

    async def _on_its_way(self, order: Order, call_id: str) -> list[str]:
        """Return a warning for each transfer to the same address that may still pay."""
        return [
            f"{show_amount(other.units, other.decimals)} {other.symbol} to this address"
            f" is on its way already: {other.tx_hash}"
            for other in await self._store.unresolved(order.chain.name, order.sender)
            if other.recipient == order.recipient and other.call_id != call_id
        ]

    async def _pay(self, plan: Transfer, asked: Asked) -> Transfer:
        async with self._lock(plan):
            transfer = await self._store.transfer(plan.call_id)
            assert transfer is not None
            if first := transfer.state is TransferState.PLANNED:
                transfer = await self._sign(transfer, asked)
            if transfer.state is not TransferState.SIGNED:
                return transfer
            return await self._broadcast(transfer, first=first)

    def _paid(self, paying: "asyncio.Task[Transfer]") -> None:
        self._changed.set()
        if not paying.cancelled() and (error := paying.exception()):
            # Looked at here too: the call that asked for it may have been cancelled.
            log.info("a transfer was not made: %s", error)

    async def _sign(self, plan: Transfer, asked: Asked) -> Transfer:
        """Look once more whether what was shown still holds, then sign and store."""
        order, _ = await self._order(asked)
        limit, left = await self._allowance(order)
        simulation = await self._simulate(order)
        name = self._settings.recipient_name(order.chain, order.recipient)
        if not _same(plan, fingerprint(order, simulation, name)):
            raise ToolError(
                "not_executed", "what was approved is not what would happen now; nothing was signed"
            )
        if simulation.fee_needed > plan.fee_ceiling:
            raise ToolError("not_executed", "the fees rose above what was approved; nothing was signed")
        network = self._networks[order.chain.name]
        signed = await network.sign(
            order,
            fee_ceiling=plan.fee_ceiling,
            first_nonce=await self._store.next_nonce(plan.chain, plan.sender),
            salt=plan.call_id,
        )
        kept = await self._store.sign(
            plan.call_id,
            raw=signed.raw,
            tx_hash=signed.tx_hash,
            nonce=signed.nonce,
            valid_until=signed.valid_until,
            at=self._now(),
            limit=limit.of_day(order.token, self._now()),
        )
        if kept is None:
            raise over_day(order, left)
        return kept

    async def _broadcast(self, transfer: Transfer, *, first: bool) -> Transfer:
        network = self._networks[transfer.chain]
        return await self._note(transfer, await fate_of(network.broadcast(transfer, first=first)))

    async def _follow(self, transfer: Transfer) -> Transfer:
        """Take one look at a transfer that has no end, and send its bytes again where nobody knows them."""
        network = self._networks.get(transfer.chain)
        if network is None:
            return transfer
        async with self._lock(transfer):
            current = await self._store.transfer(transfer.call_id)
            assert current is not None
            if current.state not in UNRESOLVED:
                return current
            # In doubt nothing is sent again: a gateway takes anything, and the doubt would begin anew.
            if current.state is TransferState.SENT or current.call_id in self._doubted_since:
                fate = await fate_of(network.look_up(current))
                if fate.state is not TransferState.UNKNOWN:
                    return await self._note(current, fate)
            return await self._broadcast(current, first=False)

    async def _note(self, transfer: Transfer, fate: Fate) -> Transfer:
        if not fate.doubtful:
            self._doubted_since.pop(transfer.call_id, None)
        elif not self._long_doubted(transfer):
            fate = Fate(TransferState.UNKNOWN, f"{fate.error}; waiting to be sure of it")
        if (fate.state, fate.error) == (transfer.state, transfer.error):
            return transfer
        if fate.state is TransferState.UNKNOWN:
            log.warning("transfer %s: outcome unknown: %s", transfer.tx_hash, fate.error)
        return await self._store.move(
            transfer.call_id, fate.state, error=fate.error, block=fate.block, fee=fate.fee
        )

    def _long_doubted(self, transfer: Transfer) -> bool:
        now = asyncio.get_running_loop().time()
        return now - self._doubted_since.setdefault(transfer.call_id, now) >= self._doubt

    async def _receipt(self, transfer: Transfer) -> Transfer:
        """Wait a little for the end of a transfer; return it as it stands then."""
        try:
            async with asyncio.timeout(self._wait):
                while transfer.state in UNRESOLVED:
                    transfer = await self._follow(transfer)
                    if transfer.state in UNRESOLVED:
                        await asyncio.sleep(self._poll)
        except TimeoutError:
            pass
        return transfer

    def _result(self, transfer: Transfer) -> str:
        report = self.report(transfer)
        match transfer.state:
            case TransferState.MINED:
                return report
            case TransferState.FAILED:
                raise ToolError("EIO", report)
            case TransferState.UNKNOWN:
                raise ToolError("UnknownError", f"{report}\nIt reports by itself. Do not send it again.")
        return f"{report}\nIt was handed to the network and reports by itself. Do not send it again."

    def _lock(self, transfer: Transfer) -> asyncio.Lock:
        return self._locks.setdefault((transfer.chain, transfer.sender), asyncio.Lock())

    def _pause(self, transfer: Transfer) -> float:
        age = self._now() - (transfer.signed_at or 0.0)
        return min(SLOWEST_POLL, max(self._poll, age / 10))

    def _order_lines(
        self, order: Order, after: tuple[int, int], name: str | None, ceiling: int
    ) -> list[CardLine]:
        chain, token = order.chain, order.token
        coin = chain.native
        balance = f"{show_amount(after[0], token.decimals)} {token.symbol}"
        if token.contract:
            balance += f", {show_amount(after[1], coin.decimals)} {coin.symbol}"
        lines = [
            CardLine("Chain", f"{chain.name} ({chain.id})" if chain.kind == "evm" else chain.name),
            CardLine("Amount", f"{show_amount(order.units, token.decimals)} {token.symbol}"),
            CardLine("To", order.recipient, code=True),
            CardLine("Name", name or ("on your list" if name is not None else "not on your list")),
            CardLine("From", order.sender, code=True),
            CardLine("Fee", f"at most {show_amount(ceiling, coin.decimals)} {coin.symbol}"),
            CardLine("Balance after", f"at least {balance}"),
            CardLine("Dry run", "works"),
        ]
        if token.contract:
            lines.insert(2, CardLine("Token", token.contract, code=True))
        return lines

    def _limit_line(self, limit: Limit, left: Decimal, token: Token) -> str:
        return (
            f"{plain(limit.per_transfer)} {token.symbol} a transfer;"
            f" after this {plain(left)} of {plain(limit.per_day)} left in 24 hours"
        )


async def fate_of(asking: Awaitable[Fate]) -> Fate:
    """Return what a network found out; UNKNOWN when it can't make sense of what a node says.

    The bytes are signed by then, so nothing that happens here may look as if nothing had been done.
    """
    try:
        return await asking
    except Exception:
        log.exception("a node's answer about a transfer can't be read")
        return Fate(TransferState.UNKNOWN, "a node's answer can't be read")


def named_token(name: str) -> Token:
    """Return what a limit's name is about, as far as payments of it are counted."""
    asset = name.partition("@")[0]
    if len(asset) <= 20:
        return Token(asset, "", 0)
    with contextlib.suppress(ToolError):  # a mint of Solana, or a slip that no payment can be of
        asset, _ = evm_address(asset)
    return Token(asset, asset, 0, known=False)


def asked_by(call: ToolCall) -> Asked:
    """Return the arguments of a call whose arguments are known to fit."""
    arguments = call.arguments
    return Asked(
        str(arguments["to_address"]),
        str(arguments["amount"]),
        str(arguments["chain"]),
        str(arguments.get("token") or ""),
    )


def fingerprint(order: Order, simulation: Simulation, name: str | None) -> str:
    """Return what must be the same at the card, at the press and at the signature; fee and balance apart."""
    what = [
        order.chain.name,
        order.chain.id,
        order.sender,
        order.recipient,
        order.token.symbol,
        order.token.contract,
        order.token.decimals,
        str(order.units),
        name,
        *simulation.facts,
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def balances_after(order: Order, simulation: Simulation, ceiling: int) -> tuple[int, int]:
    """Return what is left of the token and of the chain's coin when the fee is as high as it may be."""
    spent = ceiling if order.token.contract else order.units + ceiling
    coins = max(simulation.coins - spent, 0)
    return (simulation.balance - order.units if order.token.contract else coins), coins


def promise_of(plan: Transfer) -> tuple[int, int]:
    """Return the balances after it that a plan's card gave."""
    _, _, token, coins = plan.fingerprint.split(":")
    return int(token), int(coins)


def outcome_of(transfer: Transfer) -> str:
    """Return in a few words how a transfer ended, for its card."""
    if transfer.state is TransferState.MINED:
        return f"✅ paid, block {transfer.block}, {transfer.tx_hash}"
    return f"❌ not paid: {transfer.error}"


def amount_of(order: Order) -> Decimal:
    return Decimal((0, tuple(map(int, str(order.units))), -order.token.decimals))


def over_day(order: Order, left: Decimal) -> ToolError:
    return ToolError(
        "Denied",
        f"{plain(amount_of(order))} {order.token.symbol} is over what is left of the limit for 24 hours,"
        f" {plain(max(left, Decimal(0)))}; only the operator can change it",
    )


def _same(plan: Transfer, same: str) -> bool:
    return plan.fingerprint.partition(":")[0] == same


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
