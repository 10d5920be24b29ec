"""Interpreters, build tools and package managers: whose code runs."""

import re

from bot.safety import network
from bot.safety.flow import Flow
from bot.safety.judge import Call, find_protected, find_spec, handles, judge_spec, parse_options
from bot.safety.programs.shell import run_script
from bot.safety.words import NAME, is_literal, is_unknown

_MODULES_LOW = frozenset(
    ["json.tool", "site", "this", "platform", "sysconfig", "tokenize", "ast", "calendar"]
)
_MODULES_MEDIUM = frozenset(
    ["venv", "compileall", "py_compile", "build", "ensurepip", "zipfile", "tarfile", "pydoc", "cProfile"]
)


@handles("python", raw=True)
def python(call: Call) -> Flow:
    args = list(call.args)
    while args:
        word = args.pop(0)
        if word in ("-V", "-VV", "--version", "-h", "--help"):
            return Flow("pipe")
        if word in ("-X", "-W"):
            args = args[1:]
            continue
        match = re.fullmatch(r"-[uBOESsIbdvqxPR]*(?:([cm])(.*))?", word, re.DOTALL)
        if match is None:
            if word.startswith("-") and word != "-":
                call.high("an option of python that is not understood", word)
                return Flow("pipe")
            if word == "-":
                break
            return script(call, word, args)
        if match[1] == "c":
            call.high("runs code given as text")
            return Flow("pipe")
        if match[1] == "m":
            module = match[2] or (args.pop(0) if args else "")
            return run_module(call, module, args)
    from_input(call)
    return Flow("pipe")


def from_input(call: Call) -> None:
    if "network" in call.stdin.taints:
        call.high("runs code fetched from the network")
    elif "decoded" in call.stdin.taints:
        call.high("runs decoded text as code")
    else:
        call.high("runs code given as text")


_MANAGE_HIGH = frozenset(
    (
        "flush shell tinker runner console c dbconsole db shell_plus dbshell sqlflush "
        "createsuperuser changepassword loaddata dumpdata reset_db sendtestemail runscript "
        "clearsessions remove_stale_contenttypes"
    ).split()
)


def script(call: Call, path: str, args: list[str]) -> Flow:
    run_script(call, path)
    name = path.rpartition("/")[2]
    task = args[0] if name in ("manage.py", "artisan", "console", "rails", "rake") and args else ""
    if task in _MANAGE_HIGH or (task != "migrate" and _TASKS.match(task)):
        call.high("changes or shows the data of the application", task)
    if name == "manage.py" and args[:1] == ["runserver"] and any("0.0.0.0" in word for word in args):  # noqa: S104
        call.high("opens a port to the network")
    for word in args:
        if (
            is_literal(word)
            and ("/" in word or word.startswith((".", "~", "\x04")))
            and not word.startswith("-")
        ):
            call.read(word)
    return Flow("pipe")


def run_module(call: Call, module: str, args: list[str]) -> Flow:
    if module == "json.tool":
        files = [word for word in args if not word.startswith("-")]
        for path in files[:1]:
            call.read(path)
        for path in files[1:]:
            call.write(path)
        return Flow("pipe", taints=call.stdin.taints)
    if module in _MODULES_LOW:
        return Flow("pipe")
    if module == "http.server":
        bind = next((args[index + 1] for index, word in enumerate(args[:-1]) if word in ("--bind", "-b")), "")
        if bind in ("127.0.0.1", "localhost", "::1"):
            call.medium("serves the folder on this machine")
        else:
            call.high("opens a port to the network")
        return Flow("pipe")
    if module == "venv":
        for word in args:
            if not word.startswith("-"):
                call.write(word + "/x")
        call.medium("makes a virtual environment")
        return Flow("pipe")
    if module in _MODULES_MEDIUM:
        call.medium(f"runs the module {module}")
        find_protected(call, args)
        return Flow("pipe")
    name = {"pip": "pip", "pytest": "pytest", "unittest": "pytest"}.get(module, module)
    spec = find_spec(call.scan.rules, name) if re.fullmatch(r"[a-z_\d.\-]+", name) else None
    if spec is not None and name in _PYTHON_TOOLS:
        return judge_spec(call.scan, spec, name, args, call.stdin, call.source)
    if re.fullmatch(r"(?:app|src|scripts|tests|bot|main|tools|manage)(?:\.\w+)*", module):
        call.medium("runs a script", module)
        return Flow("pipe")
    call.high(f"runs the module {module}" if module else "runs a module computed at run time")
    return Flow("pipe")


_PYTHON_TOOLS = frozenset(
    (
        "pip pytest mypy ruff black flake8 isort pylint coverage tox nox pyright bandit "
        "pre_commit poetry uv pipx twine"
    ).split()
)


@handles("interpreter", raw=True)
def interpreter(call: Call) -> Flow:
    """perl, ruby, node, php, lua: code in the arguments is high, a script of the project medium."""
    parse_options(call, call.spec, call.args)
    operands = [*call.operands, *call.rest]
    if call.has("-v", "--version", "-V", "-h", "--help", "-version", "-m", "--modules") and not operands:
        return Flow("pipe")
    if call.program == "php" and call.has("-l", "-m", "-v", "--ini"):
        return Flow("pipe")
    if call.has("--check"):
        for path in operands[:1]:
            call.read(path)
        return Flow("pipe")
    if not operands:
        from_input(call)
        return Flow("pipe")
    return script(call, operands[0], operands[1:])


@handles("install")
def install(call: Call) -> Flow:
    """Package managers: what comes from an index is medium, what comes from an address high."""
    for name, value in call.options:
        if name in ("-r", "--requirement", "-c", "--constraint") and value and "://" in value:
            call.high("installs code from an address or a file", value)
    for word in call.operands:
        if (
            re.search(
                r"://|^git\+|^git@|\.whl\Z|\.deb\Z|\.rpm\Z|\.apk\Z|\.tgz\Z|\.tar\.gz\Z|\.snap\Z|@http", word
            )
            or "/" in word
            and not word.startswith("@")
            and call.program in ("npm", "pnpm", "yarn", "bun")
        ):
            call.high("installs code from an address or a file", word)
        elif is_unknown(word):
            call.high("installs what is computed at run time", word)
        elif word.startswith(("/", "~", "../", "\x04")):
            call.high("installs code from outside the project", word)
    return Flow("pipe")


@handles("go")
def go(call: Call) -> Flow:
    for name, value in call.options:
        if (
            name in ("-ldflags", "-gcflags", "-asmflags")
            and value
            and re.search(r"extld|toolexec|linkmode", value)
        ):
            call.high("runs another program", value)
    for word in call.operands:
        if call.verb == "run" and (re.match(r"[\w\-]+(?:\.[\w\-]+)+/", word) or "://" in word or "@" in word):
            call.high("runs code fetched from the network", word)
        elif "@" in word and call.verb in ("run", "install", "get"):
            call.medium("fetches code from the network", word)
    return Flow("pipe")


@handles("serve")
def serve(call: Call) -> Flow:
    """Development servers: on this machine only, medium; for everybody, high."""
    words = " ".join(call.args)
    if (
        call.program in ("rails", "artisan")
        and call.args
        and (call.args[0] in _MANAGE_HIGH or _TASKS.match(call.args[0]))
    ):
        call.high("changes or shows the data of the application", call.args[0])
    if re.search(r"0\.0\.0\.0|--host(?:\s|=|$)(?!127|localhost)|\[::\]", words):
        call.high("opens a port to the network")
    return Flow("pipe")


@handles("version-only", raw=True)
def version_only(call: Call) -> Flow:
    """Programs that only say their version without a question."""
    if call.args not in (
        ["--version"],
        ["-version"],
        ["version"],
        ["-V"],
        ["-v"],
        ["--help"],
        ["-h"],
        ["-help"],
        ["-vV"],
        ["-dumpversion"],
    ):
        call.high(call.spec.reason or f"{call.program} runs or changes code")
    return Flow("pipe", line=NAME)


@handles("fetch-url")
def fetch_url(call: Call) -> Flow:
    for word in call.operands:
        if "://" in word:
            network.judge_url(call.scan, word)
    return Flow("pipe", taints=frozenset(["network"]))


@handles("dpkg")
def dpkg(call: Call) -> Flow:
    if not call.options:
        call.high("changes installed packages")
    return Flow("pipe")


@handles("rpm")
def rpm(call: Call) -> Flow:
    if not call.has("-q", "--query", "-V", "--verify", "-K", "--checksig", "--version"):
        call.high("changes installed packages")
    for word in call.operands:
        if "://" in word:
            call.high("installs code from an address or a file", word)
    return Flow("pipe")


@handles("pacman")
def pacman(call: Call) -> Flow:
    if call.has("-Q", "-F", "-T", "--query", "--files", "-V", "--version"):
        return Flow("pipe")
    if call.has("-S", "--sync"):
        if call.has("-s", "-i", "-g", "-l") and not call.has("-y", "-u", "-c"):
            return Flow("pipe")
        if call.has("-c", "--clean"):
            call.high("removes the package cache")
        return Flow("pipe")
    call.high("changes installed packages")
    return Flow("pipe")


@handles("npx", raw=True)
def npx(call: Call) -> Flow:
    words = list(call.args)
    local = False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("--no-install", "--no", "--offline"):
            local = True
        elif word not in ("--quiet", "-q"):
            call.high("fetches and runs code")
            return Flow("pipe")
    spec = find_spec(call.scan.rules, words[0]) if words and is_literal(words[0]) else None
    if not local or spec is None:
        call.high("fetches and runs code")
        return Flow("pipe")
    call.clear()
    return call.run(words)


_TASKS = re.compile(
    r"(?i)(?:.*[:_\-./])?(?:deploy|publish|release|push|upload|destroy|drop|reset|clean-?all|distclean|purge|wipe|nuke|prod(?:uction)?|rollback|"
    r"uninstall|install|migrate|seed|ship|delete|down|terraform|apply)(?:[:_\-./].*)?\Z"
)


@handles("make")
def build(call: Call) -> Flow:
    """Build tools: a target may be anything the project wrote, but some names say that it reaches far."""
    if call.has("--version", "-v", "-V", "--help", "-h", "--list", "-l") and not call.operands:
        call.clear()
        return Flow("pipe")
    for name, value in call.options:
        elsewhere = value and (
            value.startswith(("/", "~", "\x04", "..")) or is_unknown(value) or value == "-"
        )
        if name in ("-f", "--file", "--makefile", "-C", "--directory") and elsewhere:
            call.high("runs a script from outside the project", value)
        if name in ("--eval", "-E"):
            call.high("runs code given as text")
    for word in call.operands:
        if re.match(r"(?:SHELL|MAKEFLAGS|CC|CXX|LD|AR|.*SHELLFLAGS|PATH)[:+?]?=", word) or is_unknown(word):
            call.high("changes which code runs later", word)
        elif "$" in word or "`" in word:
            call.high("runs code given as text", word)
        elif _TASKS.match(word):
            call.high("runs a task that reaches beyond the project", word)
    return Flow("pipe")


@handles("compiler")
def compiler(call: Call) -> Flow:
    if call.args in (["--version"], ["-version"], ["-v"], ["-V"], ["-dumpversion"]):
        call.cleared = True
        return Flow("pipe")
    output = call.value("-o", "-d")
    if output is not None:
        call.write(output)
    for word in call.operands:
        if word.startswith("@") or is_unknown(word):
            call.high("takes its options from a file", word)
        else:
            call.read(word)
    return Flow("pipe")


@handles("java")
def java(call: Call) -> Flow:
    jar = call.value("-jar")
    if jar is not None:
        run_script(call, jar)
    elif call.operands:
        run_script(call, call.operands[0])
    elif not call.has("-version", "--version", "-showversion"):
        call.high("runs code given as text")
    return Flow("pipe")
