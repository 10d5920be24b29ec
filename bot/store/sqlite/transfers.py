"""Money sent. Amounts are text: a wei count doesn't fit SQLite's integers, and sums must be exact."""

import sqlite3
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

from bot.messages import Conversation
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.database import Database
from bot.store.sqlite.part import Part
from bot.store.transfers import COUNTED, UNRESOLVED, DayLimit, Transfer, TransferState

COLUMNS = (
    "call_id, chat_id, thread_id, chain, sender, recipient, symbol, contract, decimals, units, fee_ceiling,"
    " fingerprint, planned_at, state, raw, tx_hash, nonce, valid_until, signed_at, block, fee, error, told"
)
EXACT = Context(prec=200)
"""More digits than 2**256 units a transfer, thousands of them, can have."""


class SqliteTransfers(Part):
    async def plan(self, transfer: Transfer) -> Transfer:
        row = {
            "call_id": storable(transfer.call_id),
            "chat_id": key(transfer.conversation)[0],
            "thread_id": key(transfer.conversation)[1],
            "chain": transfer.chain,
            "sender": transfer.sender,
            "recipient": transfer.recipient,
            "symbol": storable(transfer.symbol),
            "contract": transfer.contract,
            "decimals": transfer.decimals,
            "units": str(transfer.units),
            "fee_ceiling": str(transfer.fee_ceiling),
            "fingerprint": transfer.fingerprint,
            "planned_at": transfer.planned_at,
        }
        changing = [name for name in row if name not in ("call_id", "chat_id", "thread_id")]
        sql = (
            f"INSERT INTO transfers ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
            f" ON CONFLICT (call_id) DO UPDATE SET {', '.join(f'{n} = excluded.{n}' for n in changing)}"
            " WHERE state = 'planned'"
        )

        def job(db: sqlite3.Connection) -> Transfer:
            db.execute(sql, row)
            return _get(db, row["call_id"])

        return await self._db.write(job)

    async def transfer(self, call_id: str) -> Transfer | None:
        rows = await _all(self._db, "call_id = ?", storable(call_id))
        return rows[0] if rows else None

    async def next_nonce(self, chain: str, sender: str) -> int:
        [(highest,)] = await self._db.read(
            "SELECT max(nonce) FROM transfers WHERE chain = ? AND sender = ?"
            f" AND state IN ({_quoted(COUNTED)})",
            (chain, sender),
        )
        return 0 if highest is None else highest + 1

    async def sign(
        self,
        call_id: str,
        *,
        raw: bytes,
        tx_hash: str,
        nonce: int | None,
        valid_until: int | None,
        at: float,
        limit: DayLimit,
    ) -> Transfer | None:
        call_id = storable(call_id)

        def job(db: sqlite3.Connection) -> Transfer | None:
            transfer = _get(db, call_id)
            if transfer.state is not TransferState.PLANNED:
                return transfer
            # Counted in the transaction that signs: two chats at once can't both fit under what is left.
            if EXACT.add(_paid(db, limit), transfer.amount) > limit.most:
                return None
            db.execute(
                "UPDATE transfers SET state = 'signed', raw = ?, tx_hash = ?, nonce = ?, valid_until = ?,"
                " signed_at = ? WHERE call_id = ?",
                (raw, tx_hash, nonce, valid_until, at, call_id),
            )
            return _get(db, call_id)

        return await self._db.write(job)

    async def move(
        self,
        call_id: str,
        state: TransferState,
        *,
        error: str = "",
        block: int | None = None,
        fee: int | None = None,
    ) -> Transfer:
        call_id = storable(call_id)
        values = (state.value, storable(error), block, None if fee is None else str(fee), call_id)

        def job(db: sqlite3.Connection) -> Transfer:
            db.execute(
                "UPDATE transfers SET state = ?, error = ?, block = ?, fee = ?"
                f" WHERE call_id = ? AND state IN ({_quoted(UNRESOLVED)})",
                values,
            )
            transfer = _get(db, call_id)
            if transfer.raw is None:
                raise LookupError(f"no signed transfer of call {call_id!r}")
            return transfer

        return await self._db.write(job)

    async def unresolved(self, chain: str = "", sender: str = "") -> list[Transfer]:
        where = f"state IN ({_quoted(UNRESOLVED)})"
        if chain:
            return await _all(self._db, f"{where} AND chain = ? AND sender = ?", chain, sender)
        return await _all(self._db, where)

    async def untold(self) -> list[Transfer]:
        return await _all(self._db, "state IN ('mined', 'failed') AND told = 0")

    async def told(self, call_id: str) -> None:
        sql = "UPDATE transfers SET told = 1 WHERE call_id = ?"
        await self._db.write(lambda db: db.execute(sql, (storable(call_id),)).rowcount)

    async def paid(self, limit: DayLimit) -> Decimal:
        return await self._db.write(lambda db: _paid(db, limit))

    async def times_paid(self, chain: str, recipient: str) -> int:
        [(count,)] = await self._db.read(
            "SELECT count(*) FROM transfers WHERE chain = ? AND recipient = ? AND state = 'mined'",
            (chain, recipient),
        )
        return int(count)

    async def recent(self, count: int, conversation: Conversation | None = None) -> list[Transfer]:
        where, values = "raw IS NOT NULL", list[object]()
        if conversation is not None:
            where, values = f"{where} AND chat_id = ? AND thread_id = ?", [*key(conversation)]
        rows = await self._db.read(
            f"SELECT {COLUMNS} FROM transfers WHERE {where} ORDER BY signed_at DESC, rowid DESC LIMIT ?",
            [*values, count],
        )
        return [_transfer(row) for row in rows]


def _quoted(states: Sequence[TransferState]) -> str:
    return ", ".join(f"'{state.value}'" for state in states)


async def _all(db: Database, where: str, *values: object) -> list[Transfer]:
    # A function: the parts of the store are one object, and share their methods' names.
    rows = await db.read(f"SELECT {COLUMNS} FROM transfers WHERE {where} ORDER BY rowid", values)
    return [_transfer(row) for row in rows]


def _get(db: sqlite3.Connection, call_id: object) -> Transfer:
    row = db.execute(f"SELECT {COLUMNS} FROM transfers WHERE call_id = ?", (call_id,)).fetchone()
    if row is None:
        raise LookupError(f"no transfer of call {call_id!r}")
    return _transfer(row)


def _paid(db: sqlite3.Connection, limit: DayLimit) -> Decimal:
    asset = ("contract", limit.contract) if limit.contract else ("symbol", limit.symbol)
    rows = db.execute(
        f"SELECT {COLUMNS} FROM transfers WHERE {asset[0]} = ? AND signed_at > ?"
        f" AND chain IN (SELECT value FROM json_each(?)) AND state IN ({_quoted(COUNTED)})",
        (asset[1], limit.since, to_json(list(limit.chains))),
    )
    total = Decimal(0)
    for row in rows:
        total = EXACT.add(total, _transfer(row).amount)
    return total


def _transfer(row: Sequence[Any]) -> Transfer:
    call_id, chat_id, thread_id, *rest = row
    chain, sender, recipient, symbol, contract, decimals, units, fee_ceiling, fingerprint, *rest = rest
    planned_at, state, raw, tx_hash, nonce, valid_until, signed_at, block, fee, error, told = rest
    return Transfer(
        call_id=call_id,
        conversation=from_key(chat_id, thread_id),
        chain=chain,
        sender=sender,
        recipient=recipient,
        symbol=symbol,
        contract=contract,
        decimals=decimals,
        units=int(units),
        fee_ceiling=int(fee_ceiling),
        fingerprint=fingerprint,
        planned_at=float(planned_at),
        state=TransferState(state),
        raw=raw,
        tx_hash=tx_hash,
        nonce=nonce,
        valid_until=valid_until,
        signed_at=None if signed_at is None else float(signed_at),
        block=block,
        fee=None if fee is None else int(fee),
        error=error,
        told=bool(told),
    )
