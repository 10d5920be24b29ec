"""How fast model text is parsed, beside `json.loads` of the same bodies: `python -m bench.protocol`."""

import json
import sys
import time
from collections.abc import Callable, Iterator

from bot.messages import ToolDefinition
from bot.protocol import Call, ToolCallParser

SIZES = (16 * 1024, 64 * 1024, 256 * 1024 - 512)
TEXT = {"type": "string"}
TOOLS = [
    ToolDefinition("list_containers", "", {"type": "object", "properties": {}}),
    ToolDefinition("write_file", "", {"type": "object", "properties": {"path": TEXT, "content": TEXT}}),
    ToolDefinition("service_status", "", {"type": "object", "properties": {"name": TEXT}}),
    ToolDefinition("run_in_terminal", "", {"type": "object", "properties": {"command": TEXT}}),
]


def repeat(unit: str, size: int) -> str:
    """Return `unit` over and over, `size` characters long."""
    return (unit * (size // len(unit) + 1))[:size]


GENERATORS: dict[str, Callable[[int], str]] = {
    "openers": lambda n: repeat("<tool_use>", n),
    "openers_call": lambda n: repeat("<tool_call>", n),
    "openers_with_body": lambda n: repeat('<tool_call>{"name":"a","arguments":{', n),
    "closers": lambda n: repeat("</tool_call>", n),
    "partial_openers": lambda n: repeat("<tool_cal", n),
    "lt": lambda n: "<" * n,
    "fences_unclosed": lambda n: repeat("```json\n{", n),
    "fence_lines": lambda n: repeat("```\n", n),
    "backticks": lambda n: "`" * n,
    "backtick_singles": lambda n: repeat("` a\n", n),
    "backtick_runs": lambda n: "".join("`" * (i + 1) + " " for i in range(int((2 * n) ** 0.5)))[:n],
    "fence_name_name": lambda n: "```{" + repeat('"name"}', n),
    "fence_spaces": lambda n: "```json" + " " * n,
    "deep_objects": lambda n: "<tool_call>" + repeat('{"a":', n),
    "deep_arrays": lambda n: "<tool_call>" + "[" * n,
    "string_unclosed": lambda n: '<tool_call>{"name":"' + "a" * n,
    "deep_closed": lambda n: (
        '<tool_call>{"name":"service_status","arguments":{"tags":'
        + "[" * (n // 2)
        + "]" * (n // 2)
        + "}}</tool_call>"
    ),
    "backslashes": lambda n: '<tool_call>{"name":"' + "\\" * n,
    "quotes": lambda n: '<tool_call>{"name":' + '"' * n,
    "quote_commas": lambda n: '<tool_call>{"name":"a' + repeat('", "b', n),
    "think_openers": lambda n: repeat("<think>", n),
    "think_unclosed": lambda n: "<think>" + repeat("<tool_call>{}</tool_call>", n),
    "invokes": lambda n: repeat('<invoke name="a">', n),
    "qwen_params": lambda n: "<tool_call><function=f>" + repeat("<parameter=a>", n),
    "react": lambda n: "Thought: x\nAction: y\n" + "\n" * n,
    "pythonic_open": lambda n: "[run_in_terminal(" + repeat("a=1, ", n),
    "mistral": lambda n: repeat("[TOOL_CALLS]", n),
    "blockquotes": lambda n: repeat("> <tool_call>{\n", n),
    "entities": lambda n: "<tool_call>" + repeat("&quot;", n) + "</tool_call>",
    "small_calls": lambda n: repeat('<tool_call>{"name":"list_containers","arguments":{}}</tool_call>\n', n),
    "one_big_call": lambda n: "<tool_call>" + big_body(n) + "</tool_call>",
    "plain_prose": lambda n: repeat("Server aman, tidak ada yang perlu dijalankan hari ini. ", n),
}


def big_body(size: int) -> str:
    """Return one call whose JSON is about `size` characters long."""
    content = repeat('baris <b>&\\ "x"\n', size * 16 // 20)
    return json.dumps({"name": "write_file", "arguments": {"path": "a", "content": content}})


def parse(text: str, chunk: int) -> tuple[float, int]:
    """Return the seconds taken and the calls found."""
    started = time.process_time()
    parser = ToolCallParser(TOOLS)
    calls = 0
    for at in range(0, len(text), chunk):
        calls += sum(isinstance(event, Call) for event in parser.feed(text[at : at + chunk]))
    calls += sum(isinstance(event, Call) for event in parser.finish("stop"))
    return time.process_time() - started, calls


def rates() -> Iterator[tuple[str, str]]:
    """Yield a name and a line of numbers for every generator."""
    for name, generate in GENERATORS.items():
        seconds = [min(parse(generate(size), 4096)[0] for _ in range(3)) for size in SIZES]
        streamed = parse(generate(SIZES[1]), 4)[0]
        speed = SIZES[-1] / seconds[-1] / 1e6
        ratio = max(seconds[1] / seconds[0], seconds[2] / seconds[1])
        yield (
            name,
            f"{speed:9.2f} MB/s   x4 size: x{ratio:4.1f}   by 4: {SIZES[1] / streamed / 1e6:7.2f} MB/s",
        )


def main() -> None:
    """Print the table."""
    parse("warm up <tool_call>{}</tool_call>", 8)
    for name, line in rates():
        sys.stdout.write(f"{name:20}{line}\n")
    body = big_body(SIZES[-1])
    started = time.process_time()
    json.loads(body)
    seconds = time.process_time() - started
    sys.stdout.write(f"{'json.loads big call':20}{len(body) / seconds / 1e6:9.2f} MB/s\n")
    small = '{"name":"list_containers","arguments":{}}'
    count = SIZES[-1] // len(small)
    started = time.process_time()
    for _ in range(count):
        json.loads(small)
    seconds = time.process_time() - started
    sys.stdout.write(f"{'json.loads small':20}{count * len(small) / seconds / 1e6:9.2f} MB/s\n")


if __name__ == "__main__":
    main()
