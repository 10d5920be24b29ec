import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.model_bedrock import frame
from bot.errors import LLMMalformed
from bot.llm.eventstream import FrameDecoder
from bot.llm.ndjson import LineDecoder

EVENTS = [("messageStart", {"role": "assistant"}), ("contentBlockDelta", {"delta": {"text": "é 👩"}})]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_frames_come_out_whole_however_they_are_cut(cuts: list[int]) -> None:
    stream, decoder, found = b"".join(frame(*event) for event in EVENTS), FrameDecoder(), []

    while stream:
        size = cuts[len(stream) % len(cuts)]
        found += decoder.feed(stream[:size])
        stream = stream[size:]

    assert [json.loads(event) for event in found] == [{kind: payload} for kind, payload in EVENTS]


@pytest.mark.parametrize("at", [1, 9, 20, -6, -1])
def test_a_damaged_frame_is_malformed(at: int) -> None:
    damaged = bytearray(frame(*EVENTS[1]))
    damaged[at] ^= 0x40

    with pytest.raises(LLMMalformed):
        FrameDecoder().feed(bytes(damaged) + frame(*EVENTS[0]) * 20)


def test_an_exception_is_an_error_with_its_type_and_words() -> None:
    [event] = FrameDecoder().feed(frame("throttlingException", {"message": "slow down"}, exception=True))

    assert json.loads(event) == {"error": {"type": "throttlingException", "message": "slow down"}}


def test_half_a_frame_is_no_event() -> None:
    decoder = FrameDecoder()

    assert decoder.feed(frame(*EVENTS[0])[:-1]) == []
    assert decoder.finish() == []


@given(st.integers(1, 9))
def test_lines_come_out_whole_however_they_are_cut(size: int) -> None:
    stream, decoder, found = '{"a":"é"}\n\n{"b":1}\r\n{"c":2}'.encode(), LineDecoder(), []

    for at in range(0, len(stream), size):
        found += decoder.feed(stream[at : at + size])
    found += decoder.finish()

    assert [json.loads(line) for line in found] == [{"a": "é"}, {"b": 1}, {"c": 2}]
