"""The chart of /usage is a picture that any reader takes."""

import struct
import zlib
from collections.abc import Iterator

import pytest

from bot.telegram.png import BAR, HEIGHT, LAST, MARGIN, PAPER, WIDTH, bars


def chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(picture):
        [length] = struct.unpack(">I", picture[at : at + 4])
        kind, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        [crc] = struct.unpack(">I", picture[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + content)
        yield kind, content
        at += 12 + length


def rows(picture: bytes) -> list[bytes]:
    pixels = zlib.decompress(dict(chunks(picture))[b"IDAT"])
    return [pixels[y * (WIDTH + 1) + 1 : (y + 1) * (WIDTH + 1)] for y in range(HEIGHT)]


@pytest.mark.parametrize("values", [[], [0], [0, 0, 0], [1], list(range(30)), [10**15, 1]])
def test_whatever_the_numbers_it_is_a_whole_picture(values: list[int]) -> None:
    picture = bars(values)

    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert [kind for kind, _ in chunks(picture)] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert [len(row) for row in rows(picture)] == [WIDTH] * HEIGHT


def test_a_bar_is_as_high_as_its_number() -> None:
    picture = rows(bars([50, 0, 100]))

    third = (WIDTH - 2 * MARGIN) // 3
    heights = [sum(row[MARGIN + third * i + third // 2] in (BAR, LAST) for row in picture) for i in range(3)]
    assert heights == [(HEIGHT - 2 * MARGIN) // 2, 0, HEIGHT - 2 * MARGIN]


def test_the_last_bar_is_darker() -> None:
    row = rows(bars([1, 1]))[HEIGHT - MARGIN - 1]

    assert (row[0], row[MARGIN + 5], row[WIDTH - MARGIN - 20]) == (PAPER, BAR, LAST)
