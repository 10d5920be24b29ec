"""Every row of the dialect table, written for one call with one argument.

`CALL` stands for the argument's value. Each sample is one whole call of `run_in_terminal`.
"""

VALUE = "uptime -p"
JSON = '{"command": "uptime -p"}'
NAMED = '{"name": "run_in_terminal", "arguments": {"command": "uptime -p"}}'
SHORT = '{"name": "run_in_terminal", "parameters": {"command": "uptime -p"}}'

# Explicit markup: counts anywhere outside quotation.
TAGGED = {
    "tool_use": f"<tool_use>{NAMED}</tool_use>",
    "tool_call": f"<tool_call>\n{NAMED}\n</tool_call>",
    "longcat": f"<longcat_tool_call>{NAMED}</longcat_tool_call>",
    "minimax_m1": f"<tool_calls>\n{NAMED}\n</tool_calls>",
    "nemotron": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "python_tag": f"<|python_tag|>{SHORT}",
    "function_json": f"<function=run_in_terminal>{JSON}</function>",
    "function_attribute": f'<function name="run_in_terminal">{JSON}</function>',
    "qwen3_coder": (
        "<tool_call>\n<function=run_in_terminal>\n<parameter=command>\nuptime -p\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "seed_oss": (
        "<seed:tool_call>\n<function=run_in_terminal>\n<parameter=command>uptime -p</parameter>\n"
        "</function>\n</seed:tool_call>"
    ),
    "invoke": (
        '<function_calls>\n<invoke name="run_in_terminal">\n<parameter name="command">uptime -p</parameter>\n'
        "</invoke>\n</function_calls>"
    ),
    "minimax_m2": (
        '<minimax:tool_call>\n<invoke name="run_in_terminal">\n'
        '<parameter name="command">uptime -p</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "minimax_m3": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="run_in_terminal">\n'
        "]<]minimax[>[<command>uptime -p]<]minimax[>[</command>\n"
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
    ),
    "attributes": '<tool_use name="run_in_terminal" command="uptime -p" />',
    "attribute_json": f"<tool_call name='run_in_terminal' args='{JSON}' />",
    "attribute_tool": f"<tool name='run_in_terminal' args='{JSON}' />",
    "attribute_body": f'<tool_use name="run_in_terminal">{JSON}</tool_use>',
    "child_tags": (
        f"<tool_call><tool_name>run_in_terminal</tool_name><parameters>{JSON}</parameters></tool_call>"
    ),
    "cline": "<run_in_terminal>\n<command>uptime -p</command>\n</run_in_terminal>",
    "harmony": (
        f"<|channel|>commentary to=functions.run_in_terminal <|constrain|>json<|message|>{JSON}<|call|>"
    ),
    "deepseek_v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run_in_terminal\n"
        f"```json\n{JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek_v31": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run_in_terminal<｜tool▁sep｜>{JSON}"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "dsml": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="run_in_terminal">\n'
        '<｜DSML｜parameter name="command" string="true">uptime -p</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "dsml_blank": (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="run_in_terminal">\n'
        '<｜DSML｜ parameter name="command" string="true">uptime -p</｜DSML｜ parameter>\n'
        "</｜DSML｜ invoke>\n</｜DSML｜ calls>"
    ),
    "dsml_json": (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="run_in_terminal">\n{JSON}\n</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>"
    ),
    "kimi_k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.run_in_terminal:0"
        f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "kimi_k3": (
        '<|open|>tools<|sep|><|open|>call tool="run_in_terminal" index="1"<|sep|>'
        '<|open|>argument key="command" type="string"<|sep|>uptime -p<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>"
    ),
    "glm": (
        "<tool_call>run_in_terminal\n<arg_key>command</arg_key>\n"
        "<arg_value>uptime -p</arg_value>\n</tool_call>"
    ),
    "glm_one_line": (
        "<tool_call>run_in_terminal<arg_key>command</arg_key><arg_value>uptime -p</arg_value></tool_call>"
    ),
    "hunyuan_a13b": f"<tool_calls>[{NAMED}]</tool_calls>",
    "hunyuan_v3": (
        "<tool_calls>\n<tool_call>run_in_terminal<tool_sep>\n<arg_key>command</arg_key>\n"
        "<arg_value>uptime -p</arg_value>\n</tool_call>\n</tool_calls>"
    ),
    "mistral": f"[TOOL_CALLS] [{NAMED}]",
    "mistral_args": f"[TOOL_CALLS]run_in_terminal[ARGS]{JSON}",
    "mistral_id": f"[TOOL_CALLS]run_in_terminal[CALL_ID]aB3dE6gH9[ARGS]{JSON}",
    "functiongemma": (
        "<start_function_call>call:run_in_terminal{command:<escape>uptime -p<escape>}<end_function_call>"
    ),
    "gemma4": '<|tool_call>call:run_in_terminal{command:<|"|>uptime -p<|"|>}<tool_call|>',
    "cohere": (
        '<|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "run_in_terminal", '
        f'"parameters": {JSON}}}\n]<|END_ACTION|>'
    ),
    "granite": f"<|tool_call|>[{NAMED}]",
    "granite_31": f"<tool_call>[{NAMED}]",
    "internlm": f"<|action_start|><|plugin|>\n{SHORT}<|action_end|>",
    "lfm2": "<|tool_call_start|>[run_in_terminal(command='uptime -p')]<|tool_call_end|>",
    "lfm2_json": f"<|tool_call_start|>[{NAMED}]<|tool_call_end|>",
    "apertus": f'<|tools_prefix|>[{{"run_in_terminal": {JSON}}}]<|tools_suffix|>',
    "step3": (
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="run_in_terminal">\n'
        '<steptml:parameter name="command">uptime -p</steptml:parameter>\n'
        "</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>"
    ),
    "olmo3": '<function_calls>\nrun_in_terminal(command="uptime -p")\n</function_calls>',
    "bracket": f"[tool: run_in_terminal {JSON}]",
    "calling": f"[Calling tool: run_in_terminal({JSON})]",
    "qwen2": f"✿FUNCTION✿: run_in_terminal\n✿ARGS✿: {JSON}",
}

# Counts at the start of a line.
LINES = {
    "functionary": f">>>run_in_terminal\n{JSON}",
    "functools": f"functools[{NAMED}]",
    "plain_harmony": f"commentary to=functions.run_in_terminal json{JSON}",
}

# Counts only if it ends the message.
UNTAGGED = {
    "fence": f"```json\n{NAMED}\n```",
    "plain_fence": f"```\n{NAMED}\n```",
    "tilde_fence": f"~~~json\n{NAMED}\n~~~",
    "tag_fence": f"```tool_call\n{NAMED}\n```",
    "name_fence": f"```tool run_in_terminal\n{JSON}\n```",
    "tool_code": "```tool_code\nrun_in_terminal(command='uptime -p')\n```",
    "printed": "```tool_code\nprint(run_in_terminal(command='uptime -p'))\n```",
    "bare": NAMED,
    "bare_list": f"[{NAMED}]",
    "leaked": f'{{"tool_uses": [{{"recipient_name": "functions.run_in_terminal", "parameters": {JSON}}}]}}',
    "react": f"Action: run_in_terminal\nAction Input: {JSON}",
    "command_r": f'Action:\n```json\n[{{"tool_name": "run_in_terminal", "parameters": {JSON}}}]\n```',
}

# Only a whole message.
WHOLE = {"pythonic": "[run_in_terminal(command='uptime -p')]"}

EVERY = {**TAGGED, **LINES, **UNTAGGED, **WHOLE}
