import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import LLMMalformed
from bot.llm.sse import MAX_EVENT, EventDecoder

STREAM = 'event: x\r\ndata: {"a":1}\r\n\r\n: keep-alive\n\ndata:é\ndata: two\n\n\ndata: [DONE]\n\n'.encode()
EVENTS = [b'{"a":1}', "é\ntwo".encode(), b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    decoder = EventDecoder()
    places = [0, *sorted(cuts), len(STREAM)]

    found = [data for a, b in zip(places, places[1:], strict=False) for data in decoder.feed(STREAM[a:b])]

    assert found + decoder.finish() == EVENTS


def test_a_last_event_without_its_blank_line_still_counts() -> None:
    decoder = EventDecoder()

    found = decoder.feed(b"data: 1\n\ndata: 2")

    assert (found, decoder.finish()) == ([b"1"], [b"2"])


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    decoder = EventDecoder()

    def feed_for_ever() -> None:
        for _ in range(MAX_EVENT // 65536 + 2):
            decoder.feed(b"x" * 65536)

    with pytest.raises(LLMMalformed):
        feed_for_ever()
