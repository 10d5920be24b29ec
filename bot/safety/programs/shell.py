"""The shell's own commands, and programs that start other programs."""

import re

from bot.messages import Risk
from bot.safety import paths
from bot.safety.budget import TooTangledError
from bot.safety.flow import NOTHING, Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.values import matches
from bot.safety.words import ANY, HOLES, NAME, NUM, PATH, SPLIT, is_literal, is_unknown, may_be_option


@handles("cd")
def change_folder(call: Call) -> Flow:
    scan = call.scan
    target = call.operands[0] if call.operands else "~"
    if target == "-" or is_unknown(target) or PATH in target:
        scan.folders.append(ANY)
    elif target != ".":
        # In a loop a relative step is taken any number of times.
        relative = not target.startswith(("/", "~", "\x04"))
        spots = [ANY] if relative and scan.looping else paths.canonical(target, scan.folders)
        for spot in spots:
            if spot not in scan.folders:
                scan.folders.append(spot)
        if len(scan.folders) > 64:  # each relative step may double them
            raise TooTangledError
        if len(scan.folders) > 8:
            scan.folders.append(ANY)
    return Flow("pipe")


@handles("echo", raw=True)
def echo(call: Call) -> Flow:
    words = list(call.args)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = escapes or "e" in words[0]
        words.pop(0)
    line = " ".join(words)
    if escapes and "\\" in line:
        return Flow("pipe", taints=frozenset(["decoded"]))
    if is_unknown(line):
        return Flow("pipe", line=ANY if line.strip(HOLES) == "" else line, text=line)
    return Flow("pipe", line=line, text=line)


@handles("printf", raw=True)
def print_formatted(call: Call) -> Flow:
    if call.args[:1] and call.args[0].startswith("-v"):
        call.high("sets a variable whose name is text")
    if call.args and may_be_option(call.args[0]):
        call.high("sets a variable whose name is text")
    words = [word for word in call.args if word != "--"]
    if len(words) == 1 and "%" not in words[0]:
        body = words[0].removesuffix("\\n")
        if "\\" not in body:
            return Flow("pipe", line=body, text=body)
        return Flow("pipe", taints=frozenset(["decoded"]))
    if words and words[0] in ("%s", "%s\\n", "%d", "%d\\n"):
        body = "\n".join(words[1:])
        return Flow("pipe", line=words[1] if len(words) == 2 else ANY, text=body)
    return Flow(
        "pipe", taints=frozenset(["decoded"]) if "\\x" in " ".join(words) or "%b" in words else frozenset()
    )


@handles("read")
def read_variables(call: Call) -> Flow:
    for word in [*call.operands, *(value for name, value in call.options if name == "-a" and value)]:
        if not word.isidentifier():
            call.high("evaluates text as a variable name")
        else:
            call.scan.check_variable(word, [(ANY,)], call.source)
    return NOTHING


@handles("test", raw=True)
def test(call: Call) -> Flow:
    for option, word in zip(call.args, call.args[1:], strict=False):
        if option in ("-v", "-R") and not word.isidentifier():
            call.high("evaluates text as a variable name")
    if any(is_unknown(word) and SPLIT in word for word in call.args) and len(call.args) > 3:
        call.medium("a test that computed text can change")
    return NOTHING


_SET = re.compile(r"[-+][euxvfEnCb]+")
_SET_NAMES = frozenset("pipefail errexit nounset noglob noclobber xtrace verbose errtrace".split())


@handles("set", raw=True)
def set_options(call: Call) -> Flow:
    if not call.args:
        call.high("prints the environment (may hold keys)")
    words = iter(call.args)
    for word in words:
        if word == "--":
            break
        if re.fullmatch(r"[-+][euxvfEnCb]*o", word):
            name = next(words, "")
            if name not in _SET_NAMES:
                call.high("changes how the shell reads what follows")
        elif word[:1] in "-+" and not _SET.fullmatch(word) or may_be_option(word):
            call.high("changes how the shell reads what follows")
    return NOTHING


@handles("printenv")
def print_environment(call: Call) -> Flow:
    if not call.operands:
        call.high("prints the environment (may hold keys)")
    for word in call.operands:
        if not is_literal(word) or matches(word, call.scan.rules.words("environment", "secret")):
            call.high("prints a variable that may hold a key", word)
    return Flow("pipe")


@handles("env", raw=True)
def env(call: Call) -> Flow:
    words = list(call.args)
    while words:
        word = words.pop(0)
        if word in ("-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug"):
            continue
        if word in ("-u", "--unset", "-C", "--chdir"):
            value = words.pop(0) if words else ANY
            if word in ("-C", "--chdir"):
                call.scan.folders.append(value)
            continue
        if word.startswith(("-u", "--unset=")):
            continue
        if word == "--":
            continue
        if word.startswith("-") or may_be_option(word):
            call.high("splits text into a command of its own", word)
            return NOTHING
        name, equals, value = word.partition("=")
        if equals:
            if not name.isidentifier() or not is_literal(name):
                call.high("sets a variable whose name is text", word)
            elif not matches(name, call.scan.rules.words("environment", "harmless")):
                call.scan.check_variable(name, [(value,)], word)
                call.medium(f"sets ${name} for a program", word)
            continue
        return call.run([word, *words])
    call.high("prints the environment (may hold keys)")
    return Flow("pipe", taints=frozenset(["secret"]))


@handles("command", raw=True)
def command(call: Call) -> Flow:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-v", "-V", "-pv", "-pV"):
            return Flow("pipe", line="/usr/bin/" + NAME)
        if option not in ("-p", "--"):
            call.high("unknown option of command", option)
    if words and call.program == "builtin" and call.scan.rules.program(words[0]) is None:
        call.high("runs a shell command that is not known", words[0])
    return call.run(words)


@handles("run")
def run_rest(call: Call) -> Flow:
    if call.program in ("sudo", "doas", "su", "runuser", "pkexec") and call.rest:
        return call.run(call.rest)
    return call.run(call.rest)


@handles("exec", raw=True)
def replace_shell(call: Call) -> Flow:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option not in ("-c", "-l", "--"):
            call.high("gives a program another name", option)
            words[:1] = []
    return call.run(words)


@handles("xargs", raw=True)
def xargs(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    line = call.stdin.line
    if call.value("-a", "--arg-file") is not None or call.stdin.kind == "file":
        line = ANY
    rest = call.rest or ["echo"]
    replace = call.value("-I", "--replace", "-i") or ("{}" if call.has("-i", "--replace") else None)
    if call.stdin.safe and is_unknown(line):
        line = NAME
    if replace:
        return call.run([word.replace(replace, line) for word in rest], NOTHING)
    added = line.split() if is_literal(line) else [line if not is_unknown(line) or " " not in line else SPLIT]
    return call.run([*rest, *added], NOTHING)


_SHELL_FLAG = re.compile(r"-[eufxvilrsnkmpt]*[co]?[eufxvil]*")


@handles("shell", raw=True)
def shell(call: Call) -> Flow:
    words = list(call.args)
    inline = only_check = False
    while words and words[0][:1] in "-+" and words[0] not in ("-", "--"):
        word = words.pop(0)
        if word in ("--noprofile", "--norc", "--posix", "--login"):
            continue
        if word in ("--version", "--help"):
            return NOTHING
        if word in ("-o", "+o") and words and words[0] in _SET_NAMES:
            words.pop(0)
            continue
        if not _SHELL_FLAG.fullmatch(word):
            call.high("a shell option that is not understood", word)
            return NOTHING
        inline = inline or "c" in word
        only_check = only_check or ("n" in word and "c" not in word)
        if "s" in word:
            call.high("runs code given as text")
        if re.fullmatch(r"-[eufxv]+o", word):
            if words[:1] and words[0] not in _SET_NAMES:
                call.high("changes how the shell reads what follows")
            words = words[1:]
    if words and words[0] in ("-", "--"):
        words.pop(0)
    if inline:
        if not words:
            call.high("runs code given as text")
            return NOTHING
        if call.program not in ("sh", "bash", "dash", "ash"):
            call.high(f"runs code given as text to {call.program}")
        return call.scan.read_inner(words[0], call.source, dialect="bash" if call.program == "bash" else "sh")
    if not words:
        taints = call.stdin.taints
        if "network" in taints:
            call.high("runs code fetched from the network")
        elif "decoded" in taints:
            call.high("runs decoded text as code")
        else:
            call.high("runs code given as text")
        return NOTHING
    if only_check:
        call.read(words[0])
        return NOTHING
    run_script(call, words[0])
    return Flow("pipe")


def run_script(call: Call, path: str) -> None:
    """Judge running a file of code: the project's own is medium, anything else high."""
    scan = call.scan
    if path.startswith(("/dev/fd/", "/dev/stdin", "/proc/")) or path == "-":
        taint = "code fetched from the network" if "network" in call.stdin.taints else "code given as text"
        call.high("runs " + taint)
        return
    if is_unknown(path) or not is_literal(path):
        call.high("runs a script whose name is computed at run time", path)
        return
    if "://" in path:
        call.high("runs code fetched from the network", path)
        return
    for spot in paths.canonical(path, scan.folders):
        written = scan.is_new(spot)
        spot = paths.in_workspace(spot, scan.start)
        if written:
            call.high("runs a file that this command has just written", path)
        elif spot.startswith(("..", ANY)):
            call.high("runs a script from outside the project", path)
        elif spot.startswith(("/tmp/", "/var/tmp/", "/dev/", "/proc/", "~/.", "/root/.")):  # noqa: S108
            call.high("runs a script from a place where anybody may write", path)
        elif paths.is_credential(spot, scan.rules):
            call.high("reads a credential file", path)
    call.medium("runs a script", path)


@handles("script")
def record_session(call: Call) -> Flow:
    text = call.value("-c", "--command")
    for word in call.operands:
        call.write(word)
    if text is None:
        call.high("starts a shell of its own")
        return NOTHING
    return call.scan.read_inner(text, call.source, dialect="sh")


@handles("watch")
def watch(call: Call) -> Flow:
    if not call.rest:
        call.high("nothing to watch")
        return NOTHING
    if call.has("-x", "--exec"):
        return call.run(call.rest)
    return call.scan.read_inner(" ".join(call.rest), call.source, dialect="sh")


@handles("flock")
def lock(call: Call) -> Flow:
    if call.operands and not call.operands[0].isdigit():
        call.write(call.operands[0])
    if call.value("-c", "--command") is not None:
        return call.scan.read_inner(call.value("-c", "--command") or "", call.source, dialect="sh")
    rest = call.rest
    if rest[:1] and rest[0] in ("-c", "--command"):
        return call.scan.read_inner(rest[1] if len(rest) > 1 else ANY, call.source, dialect="sh")
    return call.run(rest)


@handles("parallel")
def parallel(call: Call) -> Flow:
    rest = call.rest
    cut = next((index for index, word in enumerate(rest) if word.startswith((":::", "::::"))), len(rest))
    template, given = rest[:cut], rest[cut + 1 :]
    if not template:
        call.high("runs commands taken from its input")
        return NOTHING
    if rest[cut : cut + 1] == ["::::"]:
        given = [ANY]
    call.medium("runs a program many times")
    for word in given or [call.stdin.line]:
        argv = [part.replace("{}", word) for part in template]
        if not any("{" in part for part in template):
            argv.append(word)
        # What it starts goes through a shell, so the words are read as code again.
        text = " ".join(argv)
        if not is_literal(text):
            call.run(argv, NOTHING)
            if is_unknown(text):
                call.high("runs code computed at run time")
        else:
            call.scan.read_inner(text, call.source)
    return NOTHING


@handles("busybox", raw=True)
def busybox(call: Call) -> Flow:
    if not call.args or call.args[0] in ("--list", "--list-full", "--help"):
        return NOTHING
    return call.run(call.args)


@handles("hash")
def hash_table(call: Call) -> Flow:
    return NOTHING


@handles("source", raw=True)
def source(call: Call) -> Flow:
    """Only the way into a virtual environment is known well enough: it changes which python is meant."""
    path = call.args[0] if len(call.args) == 1 else ""
    scan = call.scan
    if path in ("/etc/os-release", "/etc/lsb-release", "/usr/lib/os-release"):
        call.clear()
        return NOTHING
    if re.fullmatch(r"(?:\./)?\.?(?:venv|env|virtualenv)/bin/activate", path) and not any(
        scan.is_new(spot) for spot in paths.canonical(path, scan.folders)
    ):
        call.clear()
        call.medium("runs code from the project in this shell", path)
    return NOTHING


@handles("trap", raw=True)
def trap(call: Call) -> Flow:
    """Code kept for later is judged now; what it does with variables is not known."""
    words = [word for word in call.args if word != "--"]
    if words and words[0] in ("-p", "-l"):
        return NOTHING
    if len(words) < 2:
        call.high("changes what the shell does later")
        return NOTHING
    if words[0] in ("", "-"):
        return NOTHING
    return call.scan.read_inner(words[0], call.source)


@handles("mapfile")
def map_file(call: Call) -> Flow:
    for word in call.operands:
        if not word.isidentifier():
            call.high("evaluates text as a variable name")
        else:
            call.scan.check_variable(word, [(ANY,)], call.source)
    return NOTHING


_HARMLESS_SWITCHES = frozenset("nullglob globstar failglob nocasematch checkwinsize inherit_errexit".split())


@handles("shopt", raw=True)
def switches(call: Call) -> Flow:
    if call.args and not all(
        word in ("-s", "-u", "-q", "-p") or word in _HARMLESS_SWITCHES for word in call.args
    ):
        call.high("changes how the shell reads what follows")
    return NOTHING


@handles("alias", raw=True)
def alias(call: Call) -> Flow:
    if [word for word in call.args if word != "-p"]:
        call.high("changes what the shell does later")
    return NOTHING


@handles("ulimit", raw=True)
def limits(call: Call) -> Flow:
    for word in call.args:
        if not word.startswith("-"):
            call.medium("changes a limit of this shell")
    return Flow("pipe", line=NUM)


@handles("umask")
def mask(call: Call) -> Flow:
    for word in call.operands:
        call.medium("changes who may use new files", word)
    return NOTHING


@handles("exit", raw=True)
def leave(call: Call) -> Flow:
    return NOTHING


@handles("sleep")
def wait_long(call: Call) -> Flow:
    for word in call.operands:
        if is_unknown(word):
            call.find(Risk.MEDIUM, "waits for a time computed at run time", word)
    return NOTHING


@handles("yes")
def yes(call: Call) -> Flow:
    return Flow("pipe", line=" ".join(call.operands) or "y", text="y")
