"""Solana's own virtual machine in this process, asked over JSON-RPC as a node is.

LiteSVM runs the real programs; what is here is only how a node words it: https://solana.com/docs/rpc/http
"""

import base64
import json
from collections.abc import Callable
from typing import Any

import httpx
from solders.account import Account
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.token.associated import get_associated_token_address
from solders.token.state import Mint, TokenAccount, TokenAccountState
from solders.transaction import Transaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from bot.tools.wallet.solana import TOKEN

GENESIS = "LiteSVM1111111111111111111111111111111111111"
VALID_FOR = 150
"""Blocks a blockhash holds: https://solana.com/docs/core/transactions#recent-blockhash"""


class Refused(Exception):
    """What a node answers instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class SolanaNode:
    """One node with a chain of its own.

    Attributes:
        holding: Take transactions without running them, until `mine`.
        lose: Drop what is sent and answer nothing.
        forked: Say of everything that a block which may be dropped yet had it fail.
        twice: Hand each transaction on twice, and answer the second time: as a gateway does that tries again.
        lax: Take what is too old as well, as a gateway does that only hands on.
        blind: Know of no transaction that ran, as a machine that lags does.
        height: The block height it says.
        sent: Every transaction received, in base64.
    """

    def __init__(self) -> None:
        self.svm = LiteSVM()
        self.holding = False
        self.lose = False
        self.forked = False
        self.blind = False
        self.twice = False
        self.lax = False
        self.genesis = GENESIS
        self.height = 1000
        self.sent: list[str] = []
        self._pool: dict[str, Transaction] = {}
        self._ran: dict[str, Any] = {}
        self._valid_until: dict[str, int] = {}

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._handle))

    def mine(self) -> None:
        """Run what was held."""
        for transaction in self._pool.values():
            self._run(transaction)
        self._pool.clear()

    def expire(self) -> None:
        """Let the newest blockhash grow too old; what was held is forgotten."""
        self._pool.clear()
        self.svm.expire_blockhash()
        self.height += VALID_FOR + 1

    def lamports(self, address: str) -> int:
        return self.svm.get_balance(Pubkey.from_string(address)) or 0

    def make_mint(self, address: Pubkey, decimals: int) -> None:
        self._put(address, bytes(Mint(None, 10**12, decimals, True, None)))

    def give(self, owner: str, mint: str, amount: int) -> None:
        state = TokenAccountState.Initialized
        account = TokenAccount(
            Pubkey.from_string(mint), Pubkey.from_string(owner), amount, None, state, None, 0, None
        )
        self._put(self.token_account(owner, mint), bytes(account))

    def freeze(self, owner: str, mint: str) -> None:
        account = self.svm.get_account(self.token_account(owner, mint))
        assert account is not None
        held = TokenAccount.from_bytes(account.data)
        frozen = TokenAccount(
            held.mint, held.owner, held.amount, None, TokenAccountState.Frozen, None, 0, None
        )
        self._put(self.token_account(owner, mint), bytes(frozen))

    def take(self, address: str, lamports: int) -> None:
        key = Pubkey.from_string(address)
        account = self.svm.get_account(key)
        assert account is not None
        self.svm.set_account(key, Account(account.lamports - lamports, account.data, account.owner))

    def token_account(self, owner: str, mint: str) -> Pubkey:
        return get_associated_token_address(Pubkey.from_string(owner), Pubkey.from_string(mint))

    def tokens(self, owner: str, mint: str) -> int:
        account = self.svm.get_account(self.token_account(owner, mint))
        return TokenAccount.from_bytes(account.data).amount if account else 0

    def _put(self, address: Pubkey, data: bytes) -> None:
        rent = self.svm.minimum_balance_for_rent_exemption(len(data))
        self.svm.set_account(address, Account(rent, data, Pubkey.from_string(TOKEN)))

    def _handle(self, request: httpx.Request) -> httpx.Response:
        question = json.loads(request.content)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": question["id"]}
        method: Callable[..., Any] = getattr(self, "rpc_" + question["method"])
        try:
            answer["result"] = method(*question["params"])
        except Refused as refusal:
            answer["error"] = {"code": refusal.code, "message": str(refusal)}
        return httpx.Response(200, json=answer)

    def rpc_getGenesisHash(self) -> str:  # noqa: N802 - these are named as the methods are
        return self.genesis

    def rpc_getBlockHeight(self, options: Any) -> int:  # noqa: N802
        return self.height

    def rpc_getBalance(self, address: str, options: Any) -> Any:  # noqa: N802
        return {"value": self.lamports(address)}

    def rpc_getMinimumBalanceForRentExemption(self, size: int) -> int:  # noqa: N802
        return self.svm.minimum_balance_for_rent_exemption(size)

    def rpc_getLatestBlockhash(self, options: Any) -> Any:  # noqa: N802
        last = self.height + VALID_FOR
        self._valid_until[str(self.svm.latest_blockhash())] = last
        return {"value": {"blockhash": str(self.svm.latest_blockhash()), "lastValidBlockHeight": last}}

    def rpc_getAccountInfo(self, address: str, options: Any) -> Any:  # noqa: N802
        account = self.svm.get_account(Pubkey.from_string(address))
        if account is None or not account.lamports:
            return {"value": None}
        data: Any = ["", "base64"]
        if str(account.owner) == TOKEN and len(account.data) == 82:
            mint = Mint.from_bytes(account.data)
            data = {"parsed": {"type": "mint", "info": {"decimals": mint.decimals}}}
        elif str(account.owner) == TOKEN:
            held = TokenAccount.from_bytes(account.data)
            info = {"tokenAmount": {"amount": str(held.amount)}, "owner": str(held.owner)}
            data = {"parsed": {"type": "account", "info": info}}
        return {"value": {"owner": str(account.owner), "lamports": account.lamports, "data": data}}

    def rpc_simulateTransaction(self, encoded: str, options: Any) -> Any:  # noqa: N802
        assert options["replaceRecentBlockhash"]
        assert options["sigVerify"] is False
        message = Transaction.from_bytes(base64.b64decode(encoded)).message
        fresh = Message.new_with_compiled_instructions(
            message.header.num_required_signatures,
            message.header.num_readonly_signed_accounts,
            message.header.num_readonly_unsigned_accounts,
            message.account_keys,
            self.svm.latest_blockhash(),
            message.instructions,
        )
        self.svm.with_sigverify(False)
        result = self.svm.simulate_transaction(Transaction.new_unsigned(fresh))
        self.svm.with_sigverify(True)
        if isinstance(result, FailedTransactionMetadata):
            return {"value": {"err": str(result.err()), "logs": result.meta().logs()}}
        return {"value": {"err": None, "logs": result.meta().logs()}}

    def rpc_sendTransaction(self, encoded: str, options: Any) -> str:  # noqa: N802
        self.sent.append(encoded)
        if self.lose:
            raise httpx.ReadTimeout("nothing came back")
        transaction = Transaction.from_bytes(base64.b64decode(encoded))
        signature = str(transaction.signatures[0])
        if self.height > self._valid_until.get(str(transaction.message.recent_blockhash), 0):
            if self.lax:
                return signature
            raise Refused(-32002, "Transaction simulation failed: Blockhash not found")
        if self.holding:
            self._pool[signature] = transaction
        elif signature in self._ran or (self.twice and self._works(transaction)):
            raise Refused(
                -32002, "Transaction simulation failed: This transaction has already been processed"
            )
        elif isinstance(result := self._run(transaction), FailedTransactionMetadata):
            raise Refused(-32002, f"Transaction simulation failed: {result.err()}")
        return signature

    def rpc_getSignatureStatuses(self, signatures: list[str], options: Any) -> Any:  # noqa: N802
        return {"value": [self._status(signature) for signature in signatures]}

    def rpc_getTransaction(self, signature: str, options: Any) -> Any:  # noqa: N802
        result = self._ran.get(signature)
        return {"meta": {"fee": result.fee()}} if isinstance(result, TransactionMetadata) else None

    def _run(self, transaction: Transaction) -> Any:
        result = self.svm.send_transaction(transaction)
        if self.svm.get_transaction(transaction.signatures[0]) is not None:
            self._ran.setdefault(str(transaction.signatures[0]), result)
        return result

    def _works(self, transaction: Transaction) -> bool:
        return isinstance(self._run(transaction), TransactionMetadata)

    def _status(self, signature: str) -> Any:
        if self.blind:
            return None
        if self.forked:
            return {
                "slot": self.height,
                "err": {"InstructionError": [0, 0]},
                "confirmationStatus": "processed",
            }
        if signature in self._pool:
            return {"slot": self.height, "err": None, "confirmationStatus": "processed"}
        if self.svm.get_transaction(Signature.from_string(signature)) is None:
            return None
        result = self._ran[signature]
        error = str(result.err()) if isinstance(result, FailedTransactionMetadata) else None
        return {"slot": self.height, "err": error, "confirmationStatus": "finalized"}
