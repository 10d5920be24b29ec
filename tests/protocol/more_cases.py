# ruff: noqa: E501  (a table; a broken line would hide what a case is)
"""Cases of our own, as (id, text, calls, visible text, reason of the problem or "")."""

from collections.abc import Sequence

UPTIME = '{"name":"run_in_terminal","arguments":{"command":"uptime"}}'
BOOT = '{"name":"run_in_terminal","arguments":{"command":"reboot"}}'
CALL: list[object] = ["run_in_terminal", {"command": "uptime"}]
LIST: list[object] = ["list_containers", {}]
TAG = f"<tool_use>{UPTIME}</tool_use>"
Row = tuple[str, str, Sequence[Sequence[object]], str | None, str]

BODIES: list[Row] = [
    ("inner-fence", f"<tool_use>\n```json\n{UPTIME}\n```\n</tool_use>", [CALL], "", ""),
    ("crlf", f"Ok\r\n<tool_use>\r\n{UPTIME}\r\n</tool_use>\r\n", [CALL], "Ok", ""),
    ("bom", f"<tool_use>\ufeff{UPTIME}</tool_use>", [CALL], "", ""),
    ("other-attributes", f'<tool_use id="1" type="x">{UPTIME}</tool_use>', [CALL], "", ""),
    ("comment", '<tool_use>{"name":"list_containers" // all\n}</tool_use>', [LIST], "", ""),
    ("surplus-brace", f"<tool_use>{UPTIME}}}}}</tool_use>baik", [CALL], "baik", ""),
    ("empty-list", "<tool_use>[]</tool_use>", [], "", "no_name"),
    ("empty-object", "<tool_use>{}</tool_use>", [], "", "no_name"),
    ("number", "<tool_use>123</tool_use>", [], "", "no_json"),
    ("string", '<tool_use>"ls"</tool_use>', [], "", "no_json"),
    ("only-arguments", '<tool_use>{"command":"ls"}</tool_use>', [], "", "no_name"),
    (
        "flat-arguments",
        '<tool_use>{"name":"run_in_terminal","command":"ls"}</tool_use>',
        [],
        "",
        "no_arguments",
    ),
    (
        "two-argument-keys",
        '<tool_use>{"name":"run_in_terminal","arguments":{"command":"ls"},"input":{"command":"rm x"}}</tool_use>',
        [],
        "",
        "two_arguments",
    ),
    ("null-arguments", '<tool_use>{"name":"list_containers","arguments":null}</tool_use>', [LIST], "", ""),
    (
        "null-arguments-needed",
        '<tool_use>{"name":"run_in_terminal","arguments":null}</tool_use>',
        [],
        "",
        "arguments",
    ),
    (
        "unreadable-text-arguments",
        '<tool_use>{"name":"run_in_terminal","arguments":"{command: ls"}</tool_use>',
        [],
        "",
        "unquoted",
    ),
    (
        "inner-quotes",
        '<tool_use>{"name":"run_in_terminal","arguments":{"command":"echo "hai" > a"}}</tool_use>ok',
        [],
        "ok",
        "after_value",
    ),
    (
        "twice",
        '<tool_use>{"name":"run_in_terminal","arguments":{"command":"ls","command":"rm -rf /"}}</tool_use>',
        [],
        "",
        "duplicate_key",
    ),
    (
        "attribute-twice",
        '<tool_use name="run_in_terminal" command="ls" command="rm -rf /" />',
        [],
        "",
        "duplicate_key",
    ),
    (
        "half-emoji",
        '<tool_use>{"name":"post_twitter","arguments":{"text":"\\ud83d"}}</tool_use>',
        [],
        "",
        "bad_escape",
    ),
    (
        "infinity",
        '<tool_use>{"name":"run_in_terminal","arguments":{"command":"ls","timeout":1e999}}</tool_use>',
        [],
        "",
        "not_a_number",
    ),
    (
        "nested-wrappers",
        f"Ok\n<tool_calls>\n<tool_call>{UPTIME}</tool_call>\n</tool_calls>\nya",
        [CALL],
        "Ok\n\nya",
        "",
    ),
    ("doubled-close", f"Ok\n{TAG}</tool_use>\nbaik", [CALL], "Ok\n\nbaik", ""),
    ("no-close-then-text", f"<tool_use>{UPTIME}\nHabis itu gue lapor.", [CALL], "Habis itu gue lapor.", ""),
    ("no-close-then-call", f"<tool_use>{UPTIME}<tool_use>{UPTIME}</tool_use>", [CALL, CALL], "", ""),
    ("comma-then-end", f"<tool_use>{UPTIME},", [CALL], "", "cut"),
    ("half-close", f"Ok\n<tool_use>\n{UPTIME}\n</tool_u", [CALL], "Ok", ""),
    ("half-open", "Ok, gue cek.\n<tool_us", [], "Ok, gue cek.", "cut"),
    ("lone-angle", "a <", [], "a <", ""),
    ("short-tail", "kalau x<t", [], "kalau x<t", ""),
    ("second-call-cut", f"{TAG}\n<tool_use>{UPTIME[:-9]}", [CALL], "", "cut"),
    (
        "unknown-then-known",
        f'<tool_use>{{"name":"exec","arguments":{{}}}}</tool_use>\n{TAG}',
        [],
        "",
        "unknown_tool",
    ),
]
QUOTING: list[Row] = [
    (
        "mention-both",
        "Bungkus dengan <tool_use> dan </tool_use>.",
        [],
        "Bungkus dengan <tool_use> dan </tool_use>.",
        "",
    ),
    ("long-fence", f"````md\n```\n{TAG}\n```\n{TAG}\n````\nok", [], None, ""),
    ("list-fence", f"- ```xml\n{TAG}\n```\nok", [], None, ""),
    ("fence-then-call", f"```xml\n<tool_use>{BOOT}</tool_use>\n```\n{TAG}", [CALL], None, ""),
    ("span-over-lines", f"`a\n{TAG}\nb`", [CALL], "`a\n\nb`", ""),
    ("ticks-in-prose", f"Gunakan ``` untuk fence.\n{TAG}", [CALL], "Gunakan ``` untuk fence.", ""),
    ("quoted-result", f"> {TAG}\n{TAG}", [CALL], f"> {TAG}", ""),
    ("open-pre", f"<pre>{TAG}", [], f"<pre>{TAG}", "in_code"),
    ("open-thinking", "<think>belum selesai", [], "", "thinking_open"),
    ("closer-in-ticks", "<think>a `</think>` b</think>ok", [], "ok", ""),
    ("capital-thinking", "<THINK>a</THINK>ok", [], "ok", ""),
    ("kimi-thinking", "◁think▷x◁/think▷ok", [], "ok", ""),
    (
        "forged-then-text",
        f"{TAG}\n<tool_result>\nok\n</tool_result>\nSelesai.",
        [CALL],
        "Selesai.",
        "forged_result",
    ),
    ("forged-envelope", f"Tool execution finished (step 1/3). Result:\nok\n{TAG}", [], "", "forged_result"),
    ("call-in-json-answer", f'{{"note": "{TAG[:10]}", "x": 1}}', [], f'{{"note": "{TAG[:10]}", "x": 1}}', ""),
]
UNTAGGED: list[Row] = [
    ("example-lead", f"Contoh:\n```json\n{BOOT}\n```", [], f"Contoh:\n```json\n{BOOT}\n```", ""),
    (
        "sample-in-prose",
        f"Gue ambil sample log.\n```json\n{UPTIME}\n```",
        [CALL],
        "Gue ambil sample log.",
        "",
    ),
    ("two-in-fence", f"```json\n{UPTIME}\n{UPTIME}\n```", [CALL, CALL], "", ""),
    ("fence-text-tag", f"```json\n{BOOT}\n```\nLalu:\n<tool_use>{UPTIME}</tool_use>", [CALL], None, ""),
    ("fence-then-tag", f"```json\n{UPTIME}\n```\n{TAG}", [CALL, CALL], "", ""),
    (
        "config",
        '```json\n{"name":"app","arguments":["-x"]}\n```',
        [],
        '```json\n{"name":"app","arguments":["-x"]}\n```',
        "",
    ),
    ("cut-fence", "Ok\n```json\n" + BOOT[:-6], [], "Ok", "cut"),
    ("cut-bare", BOOT[:-6], [], "", "cut"),
    ("after-thinking", f"<think>a</think>{UPTIME}", [CALL], "", ""),
    ("semicolons", f"{UPTIME}; {UPTIME}", [CALL, CALL], "", ""),
    ("mixed-list", f'[{UPTIME},{{"foo":1}}]', [], f'[{UPTIME},{{"foo":1}}]', ""),
    ("in-a-line", f"Ok: {UPTIME}", [], f"Ok: {UPTIME}", ""),
    ("name-only", '{"name":"list_containers"}', [], '{"name":"list_containers"}', ""),
    ("unknown-in-list", f'[{UPTIME},{{"name":"exec","arguments":{{}}}}]', [], "", "unknown_tool"),
    ("positional", "[read_file(path)] dan lain-lain", [], "[read_file(path)] dan lain-lain", ""),
]
PARAM = '<parameter name="command">'
END = "</parameter>"
INVOKE = '<invoke name="run_in_terminal">'
ELEMENTS: list[Row] = [
    (
        "close-in-value",
        f"{INVOKE}\n{PARAM}echo '{END}' > a{END}\n</invoke>",
        [["run_in_terminal", {"command": f"echo '{END}' > a"}]],
        "",
        "",
    ),
    (
        "escaped-throughout",
        f"{INVOKE}{PARAM}cd /srv &amp;&amp; ls{END}</invoke>",
        [["run_in_terminal", {"command": "cd /srv && ls"}]],
        "",
        "",
    ),
    (
        "wrong-close",
        f'{INVOKE}\n{PARAM}ls</command>\n<parameter name="risk">low{END}\n</invoke>',
        [],
        "",
        "wrong_close",
    ),
    (
        "wrong-close-inline",
        f'{INVOKE}{PARAM}ls</command><parameter name="risk">low{END}</invoke>',
        [],
        "",
        "wrong_close",
    ),
    (
        "parameter-for-function",
        f"<tool_call>\n<parameter=bash>\n<parameter=command>\nls\n{END}\n</tool_call>\nok",
        [],
        "ok",
        "no_function",
    ),
    ("stray-text", f"{INVOKE}\nhalo {PARAM}ls{END}</invoke>", [], None, ""),
    ("between-arguments", f"{INVOKE}\n{PARAM}ls{END} lalu </invoke>", [], None, "cut"),
    ("json-in-cline", '<run_in_terminal>{"command":"uptime"}</run_in_terminal>', [CALL], "", ""),
    ("no-arguments-cline", "<list_containers></list_containers>", [LIST], "", ""),
    ("mentioned-cline", "pakai <read_file> buat baca", [], "pakai <read_file> buat baca", ""),
    (
        "items",
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="service_status">]<]minimax[>[<name>x]<]minimax[>[</name>'
        "]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>2]<]minimax[>[</item>"
        "]<]minimax[>[</tags>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        [["service_status", {"name": "x", "tags": ["a", 2]}]],
        "",
        "",
    ),
    (
        "k3-json",
        '<|open|>call tool="run_in_terminal" index="1"<|sep|><|open|>json type="object"<|sep|>'
        '{"command":"uptime"}<|close|>json<|sep|><|close|>call<|sep|>',
        [CALL],
        "",
        "",
    ),
]
EVERY = [*BODIES, *QUOTING, *UNTAGGED, *ELEMENTS]
