"""Cases of our own, however they are cut up."""

import pytest

from tests.protocol.more_cases import EVERY, Row
from tests.protocol.reading import CHUNKS, pieces, read, shown_by_spans


@pytest.mark.parametrize("row", EVERY, ids=[row[0] for row in EVERY])
def test_a_case_comes_out_as_expected_however_it_is_cut_up(row: Row) -> None:
    _, text, calls, visible, reason = row

    outcomes = [read(pieces(text, size)) for size in CHUNKS]

    whole = outcomes[-1]
    assert whole.asked == calls
    assert whole.reasons == ([reason] if reason else [])
    if visible is not None:
        assert whole.text.strip() == visible.strip()
    assert shown_by_spans(text, whole.hidden) == whole.text
    for outcome in outcomes:
        assert outcome.result == whole.result
