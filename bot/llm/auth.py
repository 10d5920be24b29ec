"""Headers that prove who asks where a fixed key does not do: tokens that expire, signatures."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Protocol

import httpx

from bot import clock
from bot.errors import ConfigError, LLMRejected, LLMUnavailable

EARLY = 60.0
"""Seconds before its end at which a token is replaced."""


class Auth(Protocol):
    """Makes headers for one request."""

    async def headers(self, http: httpx.AsyncClient, url: str, content: bytes) -> Mapping[str, str]:
        """Return the headers for a POST of `content`.

        Raises:
            LLMRejected: There is nothing to prove it with, or the token server said no.
            LLMUnavailable: The token server can't be reached.
        """
        ...

    def renew(self) -> bool:
        """Forget what was just refused; return whether the next headers will differ."""
        ...


class ZaiToken:
    """A token signed with a key of the form `id.secret`, good for half an hour.

    Source: https://docs.z.ai/api-reference/introduction (JWT, HS256, times in milliseconds)
    """

    LIFETIME = 1800.0

    def __init__(self, key: str, now: clock.Clock = clock.system) -> None:
        self._id, _, self._secret = key.partition(".")
        self._now = now
        self._token = ""
        self._until = 0.0

    async def headers(self, http: httpx.AsyncClient, url: str, content: bytes) -> Mapping[str, str]:
        now = self._now()
        if now > self._until - EARLY:
            self._until = now + self.LIFETIME
            head = {"alg": "HS256", "sign_type": "SIGN"}
            claims = {
                "api_key": self._id,
                "exp": round(self._until * 1000),
                "timestamp": round(now * 1000),
            }
            signed = f"{_base64(head)}.{_base64(claims)}"
            mac = hmac.new(self._secret.encode(), signed.encode(), hashlib.sha256).digest()
            self._token = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
        return {"authorization": f"Bearer {self._token}"}

    def renew(self) -> bool:
        return False


def _base64(value: Mapping[str, object]) -> str:
    text = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


class ClientCredentials:
    """An OAuth token fetched with a client id and secret.

    Source: https://datatracker.ietf.org/doc/html/rfc6749#section-4.4
    """

    def __init__(
        self, provider: str, token_url: str, client_id: str, secret: str, now: clock.Clock = clock.system
    ) -> None:
        self._provider = provider
        self._token_url = token_url
        self._form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        self._now = now
        self._token = ""
        self._until = 0.0
        self._fresh = False
        self._fetching = asyncio.Lock()

    async def headers(self, http: httpx.AsyncClient, url: str, content: bytes) -> Mapping[str, str]:
        async with self._fetching:
            self._fresh = not self._token or self._now() > self._until - EARLY
            if self._fresh:
                await self._fetch(http)
        return {"authorization": f"Bearer {self._token}"}

    def renew(self) -> bool:
        # A token fetched for this very request is not old: it is the person who is refused.
        if self._fresh:
            return False
        self._token = ""
        return True

    async def _fetch(self, http: httpx.AsyncClient) -> None:
        answer = await http.post(self._token_url, data=self._form, timeout=30.0)
        if answer.status_code in (408, 429) or answer.status_code >= 500:
            raise LLMUnavailable(f"{self._provider}'s token server answered {answer.status_code}")
        try:
            token, lifetime = _read_token(answer.json())
        except (ValueError, TypeError, KeyError):
            raise LLMRejected(
                f"{self._provider} refused the client id or key ({answer.status_code})", reason="auth"
            ) from None
        self._token, self._until = token, self._now() + lifetime


def _read_token(answer: Mapping[str, Any]) -> tuple[str, float]:
    token = answer["access_token"]
    if not isinstance(token, str) or not token:
        raise ValueError("no token")
    return token, float(answer.get("expires_in") or 600)


class SigV4:
    """AWS signatures, made by botocore from its own chain of credentials or from the ones given.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
    """

    def __init__(self, region: str, environ: Mapping[str, str], service: str = "bedrock") -> None:
        self._region = region
        self._environ = environ
        self._service = service
        self._credentials: Any = None

    async def headers(self, http: httpx.AsyncClient, url: str, content: bytes) -> Mapping[str, str]:
        # The chain may ask the machine's metadata service or read files.
        return await asyncio.to_thread(self._sign, url, content)

    def renew(self) -> bool:
        return False

    def _sign(self, url: str, content: bytes) -> Mapping[str, str]:
        try:
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest
            from botocore.credentials import Credentials
            from botocore.exceptions import BotoCoreError
            from botocore.session import Session
        except ImportError:
            raise ConfigError("signing for AWS needs botocore: pip install 'kai-bot[bedrock]'") from None
        if self._credentials is None:
            if access := self._environ.get("AWS_ACCESS_KEY_ID"):
                self._credentials = Credentials(
                    access,
                    self._environ.get("AWS_SECRET_ACCESS_KEY", ""),
                    self._environ.get("AWS_SESSION_TOKEN") or None,
                )
            else:
                self._credentials = Session(
                    profile=self._environ.get("AWS_PROFILE") or None
                ).get_credentials()
        if self._credentials is None:
            raise LLMRejected("no AWS credentials were found", reason="auth")
        request = AWSRequest("POST", url, data=content, headers={"content-type": "application/json"})
        try:
            frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as exc:
            raise LLMUnavailable(f"AWS credentials can't be refreshed: {type(exc).__name__}") from None
        SigV4Auth(frozen, self._service, self._region).add_auth(request)
        return dict(request.headers.items())
