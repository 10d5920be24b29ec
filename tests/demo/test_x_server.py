"""The fake X refuses what the real one refuses, so that a tool that passes here may pass there."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from oauthlib.oauth1 import Client  # type: ignore[import-untyped]

from bot.demo.x_server import KEYS, XServer, serve_x
from bot.tools.post_twitter import OAuth1


@pytest.fixture
def x() -> XServer:
    return XServer()


@pytest.fixture
async def http(x: XServer) -> AsyncIterator[httpx.AsyncClient]:
    async with serve_x(x) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


async def post(http: httpx.AsyncClient, **content: Any) -> httpx.Response:
    return await http.post("/2/tweets", auth=OAuth1(KEYS), **content)


def signed(http: httpx.AsyncClient, method: str = "GET", path: str = "/2/users/me", **how: str) -> str:
    client = Client(
        KEYS["X_API_KEY"],
        client_secret=KEYS["X_API_SECRET"],
        resource_owner_key=KEYS["X_ACCESS_TOKEN"],
        resource_owner_secret=KEYS["X_ACCESS_SECRET"],
        **how,
    )
    _, headers, _ = client.sign(str(http.base_url.join(path)), method)
    return str(headers["Authorization"])


async def me(http: httpx.AsyncClient, authorization: str) -> int:
    return (await http.get("/2/users/me", headers={"Authorization": authorization})).status_code


async def test_a_right_signature_is_taken_once(http: httpx.AsyncClient) -> None:
    authorization = signed(http)

    assert [await me(http, authorization), await me(http, authorization)] == [200, 401]


async def test_a_query_is_part_of_the_signature(http: httpx.AsyncClient) -> None:
    path = "/2/users/me?user.fields=id%20name"

    answers = [
        await http.get(path, headers={"Authorization": signed(http, path=path)}),
        await http.get(path, headers={"Authorization": signed(http)}),
    ]

    assert [answer.status_code for answer in answers] == [200, 401]


@pytest.mark.parametrize(
    "how",
    [
        {"timestamp": "1500000000"},
        {"timestamp": "soon"},
        {"nonce": ""},
        {"signature_method": "HMAC-SHA256"},
        {"signature_method": "PLAINTEXT"},
    ],
)
async def test_what_was_not_signed_as_it_must_be(http: httpx.AsyncClient, how: dict[str, str]) -> None:
    assert await me(http, signed(http, **how)) == 401


@pytest.mark.parametrize("authorization", ["", "Bearer x", "OAuth", 'OAuth oauth_signature="x"'])
async def test_what_was_not_signed_at_all(http: httpx.AsyncClient, authorization: str) -> None:
    assert await me(http, authorization) == 401


async def test_a_signature_for_another_method_or_path(http: httpx.AsyncClient) -> None:
    assert await me(http, signed(http, "POST")) == 401
    assert await me(http, signed(http, path="/2/tweets")) == 401


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"json": {"text": "hello"}}, 201),
        ({"json": {"text": ""}}, 400),
        ({"json": {}}, 400),
        ({"json": ["text"]}, 400),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"data": {"text": "hello"}}, 400),
        ({"json": {"text": "hello", "media": {"media_ids": ["12"]}}}, 400),
        ({"json": {"text": "x" * 281}}, 403),
    ],
)
async def test_a_post_is_taken_or_refused(
    http: httpx.AsyncClient, x: XServer, content: dict[str, Any], status: int
) -> None:
    response = await post(http, **content)

    assert response.status_code == status
    assert len(x.posts) == (status == 201)


async def test_the_same_text_twice_is_a_duplicate(http: httpx.AsyncClient, x: XServer) -> None:
    await post(http, json={"text": "hello"})

    response = await post(http, json={"text": "hello"})

    assert (response.status_code, "duplicate content" in response.json()["detail"]) == (403, True)
    assert len(x.posts) == 1


async def test_the_window_runs_out(http: httpx.AsyncClient, x: XServer) -> None:
    x.left = 1

    answers = [await post(http, json={"text": text}) for text in "ab"]

    assert [answer.status_code for answer in answers] == [201, 429]
    assert [answer.headers["x-rate-limit-remaining"] for answer in answers] == ["0", "0"]
    assert answers[1].headers["x-rate-limit-reset"] == str(x.reset)


@pytest.mark.parametrize(
    ("data", "category", "status"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "tweet_image", 200),
        (b"GIF89a", "tweet_image", 200),
        (b"<svg/>", "tweet_image", 400),
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "tweet_video", 400),
        (b"\xff\xd8\xff" + bytes(5_000_000), "tweet_image", 400),
    ],
)
async def test_a_picture_is_taken_or_refused(
    http: httpx.AsyncClient, data: bytes, category: str, status: int
) -> None:
    response = await http.post(
        "/2/media/upload",
        auth=OAuth1(KEYS),
        data={"media_category": category},
        files={"media": ("a.png", data, "image/png")},
    )

    assert response.status_code == status
