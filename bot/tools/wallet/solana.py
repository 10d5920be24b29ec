"""Solana: transfers of SOL and of SPL tokens.

Methods and their answers: https://solana.com/docs/rpc/http
"""

import asyncio
import base64
import hashlib
from typing import TYPE_CHECKING, Any

import httpx

from bot.errors import ToolError
from bot.store.transfers import Transfer, TransferState
from bot.tools.credentials import Credentials
from bot.tools.wallet.addresses import bad_address, solana_address, solana_key
from bot.tools.wallet.amounts import show_amount
from bot.tools.wallet.chains import Chain, Token
from bot.tools.wallet.evm import not_enough
from bot.tools.wallet.keys import load_solana
from bot.tools.wallet.network import Fate, Order, Signed, Simulation
from bot.tools.wallet.rpc import Node, Nodes, RpcError, Unasked

if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.message import Message
    from solders.pubkey import Pubkey

SYSTEM = "11111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105 - a program's address
ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
SIGNATURE_FEE = 5_000
"""Lamports: https://solana.com/docs/core/fees"""
UNIT_PRICE = 10_000
"""Micro-lamports a compute unit, so that it is not last in line."""
UNITS = 80_000
"""Compute units; a token transfer that also makes the account takes about 35 000."""
SALT = 1 << 16
MOST_UNITS = UNITS + SALT
FEE = SIGNATURE_FEE + -(-MOST_UNITS * UNIT_PRICE // 1_000_000)
EMPTY_ACCOUNT = 0
TOKEN_ACCOUNT = 165
"""Bytes whose rent the wallet pays when it makes the recipient's account."""
CONFIRMED = {"commitment": "confirmed"}
REFUSED = {-32002, -32003, -32602}
"""Errors of nodes that took nothing: dry run failed, bad signature, bad bytes.
https://github.com/anza-xyz/agave/blob/master/rpc-client-api/src/custom_error.rs"""
PROCESSED = "already been processed"
"""In the error of a dry run of bytes that were run before."""


class Solana:
    """Args: `urls` are nodes, in the order to try."""

    def __init__(
        self, chain: Chain, urls: tuple[str, ...], http: httpx.AsyncClient, credentials: Credentials
    ) -> None:
        self.chain = chain
        self._credentials = credentials

        async def identify(node: Node) -> str:
            return str(await node.ask("getGenesisHash", []))

        self._nodes = Nodes([Node(http, url) for url in urls], identify, chain.id, chain.rpc_setting)

    async def sender(self) -> str:
        return str(load_solana(self._credentials).pubkey())

    async def token(self, text: str) -> Token:
        token = self.chain.known_token(text)
        if token is not None and not token.contract:
            return token
        mint = token.contract if token else solana_key(text)
        account = await self._account(mint)
        parsed = account.get("data") if account else None
        info = parsed.get("parsed", {}) if isinstance(parsed, dict) else {}
        if account is None or account.get("owner") != TOKEN or info.get("type") != "mint":
            raise bad_address("token", f"there is no SPL token at {mint!r}")
        decimals = int(info["info"]["decimals"])
        if token is None:
            return Token("?", mint, decimals, known=False)
        if decimals != token.decimals:
            raise ToolError("EINVAL", f"{token.symbol} says it has {decimals} decimals, not {token.decimals}")
        return token

    def address(self, text: str) -> tuple[str, str]:
        return solana_address(text), ""

    async def simulate(self, order: Order) -> Simulation:
        coins = int((await self._nodes.ask("getBalance", order.sender, CONFIRMED))["value"])
        recipient = await self._account(order.recipient)
        if recipient is not None and recipient.get("owner") != SYSTEM:
            raise bad_address("to_address", f"{order.recipient!r} is a program's account, not a wallet")
        warnings: tuple[str, ...] = ()
        if order.token.contract:
            balance, rent = await self._token_balance(order)
            spent = FEE + rent
            if rent:
                warnings = ("the recipient has no account for this token yet; the wallet pays to open it",)
        else:
            balance, rent, spent = coins, 0, order.units + FEE
            if recipient is None and order.units < (least := await self._rent(EMPTY_ACCOUNT)):
                raise ToolError(
                    "EINVAL",
                    f"the recipient is new: the first transfer must be at least {self._coins(least)}",
                )
        if balance < order.units:
            raise not_enough(order, balance)
        if coins < spent:
            raise ToolError(
                "EINVAL",
                f"insufficient funds: with fees it takes {self._coins(spent)},"
                f" the wallet has {self._coins(coins)}",
            )
        await self._dry_run(order)
        return Simulation(
            balance=balance,
            coins=coins,
            fee_needed=FEE + rent,
            fee_ceiling=FEE + rent,
            facts=("opens an account" if rent else "",),
            warnings=warnings,
        )

    async def sign(self, order: Order, *, fee_ceiling: int, first_nonce: int, salt: str) -> Signed:
        from solders.hash import Hash
        from solders.transaction import Transaction

        self._nodes.distrust()
        latest = (await self._nodes.ask("getLatestBlockhash", CONFIRMED))["value"]
        blockhash = Hash.from_string(latest["blockhash"])
        keypair = load_solana(self._credentials)
        transaction = Transaction([keypair], _message(order, salt, blockhash), blockhash)
        return Signed(
            bytes(transaction),
            str(transaction.signatures[0]),
            valid_until=int(latest["lastValidBlockHeight"]),
        )

    async def broadcast(self, transfer: Transfer, *, first: bool) -> Fate:
        assert transfer.raw is not None
        encoded = base64.b64encode(transfer.raw).decode()
        options = {"encoding": "base64", "preflightCommitment": "confirmed", "maxRetries": 3}
        answers = await self._nodes.ask_each("sendTransaction", encoded, options)
        if any(isinstance(answer, str) for answer in answers):
            return Fate(TransferState.SENT)
        # Also for "already processed", which is said of our own bytes.
        fate = await self.look_up(transfer)
        processed = any(isinstance(answer, RpcError) and PROCESSED in answer.message for answer in answers)
        if processed and (fate.doubtful or fate.state is TransferState.UNKNOWN):
            return Fate(TransferState.SENT)
        if fate.state is not TransferState.UNKNOWN:
            return fate
        refused = all(map(_refuses, answers))
        state = TransferState.FAILED if first and refused else TransferState.UNKNOWN
        return Fate(state, f"not taken by any node: {answers[0]}")

    async def look_up(self, transfer: Transfer) -> Fate:
        assert transfer.valid_until is not None
        # The height before the status: a block between the questions must not look like an expiry.
        heights = await self._nodes.ask_each("getBlockHeight", {"commitment": "finalized"})
        asked = [[transfer.tx_hash], {"searchTransactionHistory": True}]
        answers = await self._nodes.ask_each("getSignatureStatuses", *asked)
        statuses = [answer["value"][0] if isinstance(answer, dict) else answer for answer in answers]
        for status in statuses:
            if not isinstance(status, dict):
                continue
            if status.get("confirmationStatus") not in ("confirmed", "finalized"):
                return Fate(TransferState.SENT)  # failed or not: that block may be dropped yet
            if status.get("err") is not None:
                error = f"it ran and failed: {status['err']}"
                return Fate(TransferState.FAILED, error, status.get("slot"), SIGNATURE_FEE)
            return Fate(TransferState.MINED, "", status.get("slot"), await self._fee_of(transfer))
        # Of the nodes that answer: one that is gone for good must not leave it open for ever.
        late = [
            height > transfer.valid_until
            for height, status in zip(heights, statuses, strict=True)
            if isinstance(height, int) and status is None
        ]
        if late and all(late):
            return Fate(
                TransferState.FAILED, "expired: no block took it in time, and none will", doubtful=True
            )
        return Fate(TransferState.UNKNOWN, "no node knows it yet")

    async def _fee_of(self, transfer: Transfer) -> int | None:
        options = {"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 0}
        try:
            found = await self._nodes.ask("getTransaction", transfer.tx_hash, options)
            return int(found["meta"]["fee"])
        except (ToolError, KeyError, TypeError):
            return None  # it is paid; what it cost is only for the record

    async def _dry_run(self, order: Order) -> None:
        from solders.hash import Hash
        from solders.transaction import Transaction

        encoded = base64.b64encode(
            bytes(Transaction.new_unsigned(_message(order, "", Hash.default())))
        ).decode()
        options = {
            "encoding": "base64",
            "sigVerify": False,
            "replaceRecentBlockhash": True,
            "commitment": "confirmed",
        }
        result = (await self._nodes.ask("simulateTransaction", encoded, options))["value"]
        if result.get("err") is not None:
            # "Program log: Error: Account is frozen" says more than the number that ends the log.
            said = [line for line in result.get("logs") or [] if "Error" in line]
            why = (said or [str(result["err"])])[0]
            raise ToolError("EINVAL", f"the dry run fails: {why[:200]}")

    async def _token_balance(self, order: Order) -> tuple[int, int]:
        """Return (our balance of the token, the rent of an account that the recipient lacks)."""
        ours, theirs = (str(_token_account(owner, order)) for owner in (order.sender, order.recipient))
        found, existing = await asyncio.gather(self._account(ours), self._account(theirs))
        rent = 0 if existing else await self._rent(TOKEN_ACCOUNT)
        if found is None:
            return 0, rent
        amount = found["data"]["parsed"]["info"]["tokenAmount"]["amount"]
        return int(amount), rent

    async def _rent(self, size: int) -> int:
        return int(await self._nodes.ask("getMinimumBalanceForRentExemption", size))

    async def _account(self, address: str) -> dict[str, Any] | None:
        options = {"encoding": "jsonParsed", "commitment": "confirmed"}
        found: dict[str, Any] | None = (await self._nodes.ask("getAccountInfo", address, options))["value"]
        return found

    def _coins(self, units: int) -> str:
        return f"{show_amount(units, self.chain.native.decimals)} {self.chain.native.symbol}"


def _refuses(answer: Any) -> bool:
    if isinstance(answer, Unasked):
        return True
    return isinstance(answer, RpcError) and answer.final and answer.number in REFUSED


def _message(order: Order, salt: str, blockhash: Any) -> "Message":
    from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
    from solders.message import Message
    from solders.pubkey import Pubkey

    # Two equal transfers within one blockhash would be the same bytes, and the second would pay nothing.
    salted = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:2], "big")
    sender = Pubkey.from_string(order.sender)
    instructions = [
        set_compute_unit_limit(UNITS + salted),
        set_compute_unit_price(UNIT_PRICE),
        *_payment(order, sender),
    ]
    return Message.new_with_blockhash(instructions, sender, blockhash)


def _payment(order: Order, sender: "Pubkey") -> "list[Instruction]":
    from solders.instruction import AccountMeta, Instruction
    from solders.pubkey import Pubkey
    from solders.system_program import TransferParams, transfer

    recipient = Pubkey.from_string(order.recipient)
    if not order.token.contract:
        return [transfer(TransferParams(from_pubkey=sender, to_pubkey=recipient, lamports=order.units))]
    mint, program = Pubkey.from_string(order.token.contract), Pubkey.from_string(TOKEN)
    ours, theirs = _token_account(order.sender, order), _token_account(order.recipient, order)
    # CreateIdempotent of the associated token program, then TransferChecked of the token program:
    # https://github.com/solana-program/associated-token-account and /token, instruction.rs of each.
    create = Instruction(
        Pubkey.from_string(ASSOCIATED),
        b"\x01",
        [
            AccountMeta(sender, is_signer=True, is_writable=True),
            AccountMeta(theirs, is_signer=False, is_writable=True),
            AccountMeta(recipient, is_signer=False, is_writable=False),
            AccountMeta(mint, is_signer=False, is_writable=False),
            AccountMeta(Pubkey.from_string(SYSTEM), is_signer=False, is_writable=False),
            AccountMeta(program, is_signer=False, is_writable=False),
        ],
    )
    pay = Instruction(
        program,
        b"\x0c" + order.units.to_bytes(8, "little") + bytes([order.token.decimals]),
        [
            AccountMeta(ours, is_signer=False, is_writable=True),
            AccountMeta(mint, is_signer=False, is_writable=False),
            AccountMeta(theirs, is_signer=False, is_writable=True),
            AccountMeta(sender, is_signer=True, is_writable=False),
        ],
    )
    return [create, pay]


def _token_account(owner: str, order: Order) -> "Pubkey":
    from solders.pubkey import Pubkey
    from solders.token.associated import get_associated_token_address

    return get_associated_token_address(Pubkey.from_string(owner), Pubkey.from_string(order.token.contract))
