import pytest

from bot.demo.model_gemini import SCHEMA_FIELDS
from bot.llm.schema_subset import schema_subset


@pytest.mark.parametrize(
    ("schema", "subset"),
    [
        ({"type": "string", "$schema": "x", "examples": []}, {"type": "string"}),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
         {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
         {"type": "integer", "nullable": True, "default": None}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"const": "a", "type": "string"}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, 2], "type": "integer"}, {"type": "integer"}),
        ({"type": "string", "format": "uri"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}, "description": "d"},
         {"type": "string", "description": "d"}),
        ({"oneOf": [{"type": "string"}, {"type": "integer", "exclusiveMinimum": 0}]},
         {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"$ref": "#/$defs/gone"}, {"type": "object"}),
    ],
)  # fmt: skip
def test_what_gemini_does_not_know_is_left_out_or_said_its_way(
    schema: dict[str, object], subset: dict[str, object]
) -> None:
    assert schema_subset(schema) == subset


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    tree = {
        "$ref": "#/$defs/T",
        "$defs": {"T": {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}}},
    }

    subset = schema_subset(tree)

    assert set(subset) <= SCHEMA_FIELDS
