"""Every labelled case, by its id, at every chunk size. P1-P12 where a case says so."""

import json
from typing import Any

import pytest

from tests.protocol.reading import CASES, CHUNKS, pieces, read, shown_by_spans

LINES = (CASES / "toolparse.jsonl").read_text("utf-8").splitlines()
LABELLED: list[dict[str, Any]] = [json.loads(line) for line in LINES if line.strip()]

# The case says "not run" and nothing of what the model is told; it is told.
TOLD_ANYWAY = {"G04", "K05"}


@pytest.mark.parametrize("case", LABELLED, ids=[case["id"] for case in LABELLED])
def test_a_labelled_case_comes_out_as_labelled_however_it_is_cut_up(case: dict[str, Any]) -> None:
    options: dict[str, Any] = {
        "prefilled": bool(case.get("reasoning_prefilled")),
        "results": tuple(case.get("prior_tool_results") or ()),
        "finish_reason": case.get("finish_reason"),
    }

    outcomes = [read(pieces(case["text"], size), **options) for size in CHUNKS]

    whole = outcomes[-1]
    assert json.dumps(whole.asked, sort_keys=True) == json.dumps(
        [[call["name"], call["arguments"]] for call in case["expect_calls"]], sort_keys=True
    )
    if case["expect_text"] is not None:
        assert whole.text.strip() == case["expect_text"].strip()
    if case["expect_error"] is not None:
        assert case["expect_error"] in whole.codes
    elif case["id"] not in TOLD_ANYWAY:
        assert whole.codes == []
    assert shown_by_spans(case["text"], whole.hidden) == whole.text
    for outcome in outcomes:
        assert outcome.result == whole.result
