"""What is kept of a stream."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.capture import HEAD, TAIL, Capture, Stream, plain


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    return Capture(tmp_path / "out")


@given(st.lists(st.integers(0, 90_000), max_size=6))
def test_the_ends_of_a_stream_are_right_however_it_arrives(sizes: list[int]) -> None:
    stream, whole = Stream(), b""
    for number, size in enumerate(sizes):
        data = bytes(65 + (number * 7 + i) % 26 for i in range(size))
        stream.feed(data)
        whole += data

    text = stream.text()

    assert stream.total == len(whole)
    if len(whole) <= HEAD + TAIL:
        assert text == whole.decode()
    else:
        assert text.startswith(whole[:HEAD].decode() + "\n[… ")
        assert text.endswith(" bytes left out …]\n" + whole[-TAIL:].decode())


@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_no_code_point_is_cut_in_two(shift: int) -> None:
    stream = Stream()

    stream.feed(b"x" * shift + "𝄞".encode() * 40_000 + b"y" * (3 - shift))

    assert stream.cut
    assert "\ufffd" not in stream.text()


def test_bytes_that_are_no_utf_8_are_replaced(capture: Capture) -> None:
    capture.feed(capture.stdout, b"caf\xe9 au lait, s'il vous plait\n")

    assert capture.render() == "caf\ufffd au lait, s'il vous plait\n"


def test_a_tenth_of_rubbish_is_binary(capture: Capture) -> None:
    capture.feed(capture.stdout, b"\xff\xfe\xfdabc")

    assert capture.render().startswith("[binary output, 6 bytes, saved to ")


def test_both_streams_are_in_the_file_in_the_order_read(capture: Capture) -> None:
    capture.feed(capture.stdout, b"a" * 50_000)
    capture.feed(capture.stderr, b"b" * 10_000)
    assert capture.file is None

    capture.feed(capture.stdout, b"c" * 10_000)

    assert capture.file is not None
    assert capture.file.read_bytes() == b"a" * 50_000 + b"b" * 10_000 + b"c" * 10_000


def test_a_file_that_is_there_is_not_written_over(capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")

    capture.feed(capture.stdout, b"a" * 100_000)

    assert capture.file is None
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07text", "text"),
        (" 10%\r 50%\r100%\ndone", "100%\ndone"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("waiting\r", "waiting"),
    ],
)
def test_text_is_what_a_screen_would_show(printed: str, shown: str) -> None:
    assert plain(printed) == shown


@pytest.mark.parametrize(
    ("printed", "line"),
    [(b"", ""), (b"a\nb", "b"), (b"a\nb\n\n", "b"), (b" 10%\r 20%", " 20%".strip()), (b"a\0b", "")],
)
def test_the_last_line(capture: Capture, printed: bytes, line: str) -> None:
    capture.feed(capture.stdout, printed)

    assert capture.line() == line
