"""Tokens that expire and signatures, against servers that check them."""

import base64
import hashlib
import hmac
import json

import httpx
import pytest

from bot.clock import SettableClock
from bot.demo.model_bedrock import ACCESS_KEY, REGION, SECRET_KEY
from bot.demo.model_server import ModelServer, Reply, serve_model
from bot.errors import LLMRejected, LLMUnavailable
from bot.llm.auth import EARLY, ClientCredentials, ZaiToken
from bot.llm.connect import connect
from bot.llm.providers import build_client, open_http
from bot.llm.table import find
from tests.llm.samples import environ_for, hear


def decoded(part: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return value


async def zai_headers(auth: ZaiToken) -> str:
    async with httpx.AsyncClient() as http:
        return (await auth.headers(http, "", b""))["authorization"]


async def test_a_zai_token_is_signed_with_the_secret_half_of_the_key() -> None:
    now = SettableClock(1_700_000_000)

    token = (await zai_headers(ZaiToken("id.secret", now))).removeprefix("Bearer ")

    head, claims, signature = token.split(".")
    mac = hmac.new(b"secret", f"{head}.{claims}".encode(), hashlib.sha256).digest()
    assert decoded(head) == {"alg": "HS256", "sign_type": "SIGN"}
    assert decoded(claims) == {"api_key": "id", "exp": 1_700_001_800_000, "timestamp": 1_700_000_000_000}
    assert base64.urlsafe_b64decode(signature + "=") == mac


async def test_a_zai_token_is_kept_until_shortly_before_its_end() -> None:
    now = SettableClock()
    auth = ZaiToken("id.secret", now)

    first = await zai_headers(auth)
    now.advance(ZaiToken.LIFETIME - EARLY)
    kept = await zai_headers(auth)
    now.advance(1)

    assert kept == first
    assert await zai_headers(auth) != first


@pytest.mark.parametrize(("key", "signed"), [("id.secret", True), ("plain-key", False)])
async def test_only_a_key_of_two_halves_becomes_a_token(key: str, signed: bool) -> None:
    server = ModelServer(lambda request: Reply("Hi."), key=key)

    async with serve_model(server) as url, open_http() as http:
        client = build_client(["zai:scripted-auto"], environ_for(url, key=key), http)
        if signed:
            with pytest.raises(LLMRejected):
                await hear(client)
        else:
            await hear(client)

    assert bool(server.refusals) is signed


async def stackspot(server: ModelServer, url: str, http: httpx.AsyncClient, *, key: str = "test-key") -> str:
    environ = environ_for(url, key=key)
    row, model = find("stackspot:scripted", environ)
    client = connect(row, model, key, environ, http)
    said = [(await hear(client)).message.text]
    server.stackspot.revoked = server.stackspot.issued
    said.append((await hear(client)).message.text)
    return " ".join(said)


async def test_an_oauth_token_is_fetched_once_and_again_when_it_is_revoked() -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        said = await stackspot(server, url, http)

    assert (said, server.stackspot.issued) == ("Hi. Hi.", 2)


async def test_a_wrong_client_key_is_a_refused_key_and_not_repeated() -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        with pytest.raises(LLMRejected) as caught:
            await stackspot(server, url, http, key="wrong-secret")

    assert caught.value.reason == "auth"
    assert "wrong-secret" not in str(caught.value)


async def test_a_person_who_is_refused_with_a_fresh_token_is_not_sent_for_another() -> None:
    server = ModelServer(lambda request: Reply("Hi."))
    server.stackspot.revoked = 10

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        with pytest.raises(LLMRejected):
            await stackspot(server, url, http)

    assert server.stackspot.issued == 1


async def test_an_oauth_token_is_renewed_before_it_expires() -> None:
    server, now = ModelServer(), SettableClock()

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        auth = ClientCredentials("acme", f"{url}/acme/oidc/oauth/token", "client-id", "test-key", now)
        for pause in (0, 1199 - EARLY, 1):
            now.advance(pause)
            await auth.headers(http, "", b"")

    assert server.stackspot.issued == 2


async def test_a_token_server_that_is_busy_makes_the_model_unavailable() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(503))

    async with httpx.AsyncClient(transport=transport) as http:
        with pytest.raises(LLMUnavailable):
            await ClientCredentials("acme", "http://token", "id", "secret").headers(http, "", b"")


async def signed(url: str, *, secret: str, region: str = REGION, model: str) -> str:
    environ = environ_for(url) | {
        "AWS_BEARER_TOKEN_BEDROCK": "",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": secret,
        "BEDROCK_REGION": region,
    }
    async with open_http() as http:
        client = build_client([f"bedrock:{model}"], environ, http)
        return (await hear(client)).message.text


@pytest.mark.parametrize("model", ["scripted-plain", "anthropic.claude-scripted-v1:0"])
async def test_a_request_to_aws_is_signed_over_its_very_bytes(model: str) -> None:
    server = ModelServer(lambda request: Reply("Hé."))

    async with serve_model(server) as url:
        said = await signed(url, secret=SECRET_KEY, model=model)

    assert (said, server.refusals) == ("Hé.", [])


@pytest.mark.parametrize("wrong", [{"secret": "another"}, {"secret": SECRET_KEY, "region": "us-east-1"}])
async def test_a_signature_made_with_the_wrong_secret_or_region_is_refused(wrong: dict[str, str]) -> None:
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url:
        with pytest.raises(LLMRejected) as caught:
            await signed(url, model="scripted-plain", **wrong)

    assert caught.value.reason == "auth"
