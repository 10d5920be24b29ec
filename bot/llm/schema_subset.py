"""JSON Schema cut down to what Gemini's `parameters` takes.

Source: https://ai.google.dev/api/caching#Schema
"""

from collections.abc import Mapping
from typing import Any

KEPT = (
    "title", "description", "format", "nullable", "enum", "minimum", "maximum", "minItems", "maxItems",
    "minLength", "maxLength", "pattern", "minProperties", "maxProperties", "required", "default", "example",
)  # fmt: skip
FORMATS = {"string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}
MAX_DEPTH = 32


def schema_subset(
    schema: Mapping[str, Any], definitions: Mapping[str, Any] | None = None, depth: int = 0
) -> dict[str, Any]:
    """Return the schema without what would be refused; what it accepts may grow, never shrink.

    References are written out; one that goes round in circles ends as an object of any shape.
    """
    definitions = schema.get("$defs") or schema.get("definitions") or definitions or {}
    if depth > MAX_DEPTH:
        return {"type": "object"}
    if isinstance(reference := schema.get("$ref"), str):
        found = definitions.get(reference.rpartition("/")[2])
        merged = {**(found if isinstance(found, Mapping) else {"type": "object"}), **_without_ref(schema)}
        return schema_subset(merged, definitions, depth + 1)
    subset: dict[str, Any] = {name: schema[name] for name in KEPT if name in schema}
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        subset |= {"nullable": True} if "null" in kind else {}
        kind = kinds[0] if len(kinds) == 1 else None
        if len(kinds) > 1:
            subset["anyOf"] = [{"type": one} for one in kinds]
    if kind:
        subset["type"] = kind
    if "const" in schema:
        subset["enum"] = [schema["const"]]
    if "enum" in subset and not all(isinstance(value, str) for value in subset["enum"]):
        # Only words may be listed.
        del subset["enum"]
    if subset.get("format") not in FORMATS.get(str(kind), ()):
        subset.pop("format", None)
    for name in ("anyOf", "oneOf", "allOf"):
        if choices := schema.get(name):
            given = [choice for choice in choices if choice.get("type") != "null"]
            if len(given) < len(choices):
                subset["nullable"] = True
            if len(given) == 1:
                subset = {**schema_subset(given[0], definitions, depth + 1), **subset}
            else:
                subset["anyOf"] = [schema_subset(choice, definitions, depth + 1) for choice in given]
    if isinstance(properties := schema.get("properties"), Mapping):
        subset["properties"] = {
            name: schema_subset(inner, definitions, depth + 1) for name, inner in properties.items()
        }
    if isinstance(items := schema.get("items"), Mapping):
        subset["items"] = schema_subset(items, definitions, depth + 1)
    elif kind == "array":
        subset["items"] = {"type": "string"}
    return subset


def _without_ref(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "$ref"}
