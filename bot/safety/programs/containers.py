"""What a container is given of the machine it runs on."""

import re

from bot.messages import Risk
from bot.safety import paths
from bot.safety.flow import NOTHING, Flow
from bot.safety.judge import Call, handles
from bot.safety.words import ANY, NAME, is_literal, is_unknown, show


@handles("docker-run")
def run(call: Call) -> Flow:
    for name, value in call.options:
        value = value or ""
        if name in ("-v", "--volume"):
            judge_mount(call, value.split(":")[0])
        elif name == "--mount":
            match = re.search(r"(?:source|src)=([^,]*)", value)
            judge_mount(call, match[1] if match else "")
        elif name in ("-p", "--publish"):
            if not re.match(r"(?:127\.0\.0\.1|localhost|\[::1\]):", value):
                call.high("opens a port to the network", value)
        elif name in (
            "--pid",
            "--net",
            "--network",
            "--ipc",
            "--uts",
            "--userns",
            "--cgroupns",
        ) and value in ("host",):
            call.high("gives a container the machine itself", f"{name}={value}")
        elif name in ("--env-file",):
            call.read(value)
    image = call.rest[0] if call.rest else ""
    if not image:
        call.high("a container without an image")
        return Flow("pipe")
    if is_unknown(image):
        call.high("an image computed at run time", image)
    call.medium("starts a container", image)
    if len(call.rest) > 1:
        inside(call, call.rest[1:])
    return Flow("pipe", taints=frozenset(["network"]))


def judge_mount(call: Call, source: str) -> None:
    if not source or not ("/" in source or source.startswith(("~", ".", "\x04"))):
        return  # a named volume
    if is_unknown(source):
        call.high("gives a container a path computed at run time", source)
        return
    for spot in paths.canonical(source, call.scan.folders):
        plain = show(spot)
        if plain == "/" or plain.endswith("docker.sock") or paths.is_protected(spot, call.scan.rules):
            call.high("gives a container the machine itself", source)
        elif plain.startswith(".."):
            call.high("gives a container a folder outside the project", source)


def inside(call: Call, argv: list[str]) -> None:
    """Judge what runs in a container as if it ran here, in a folder that nothing is known of."""
    before = len(call.scan.findings)
    folders = list(call.scan.folders)
    call.scan.folders[:] = ["/container"]
    call.run(argv, NOTHING)
    call.scan.folders[:] = folders
    unknown = [
        index
        for index, finding in enumerate(call.scan.findings)
        if index >= before and finding.rule == "program.unknown"
    ]
    if unknown:
        # An unknown program in a container of its own is no more than a script of the project.
        for index in reversed(unknown):
            del call.scan.findings[index]
        call.find(
            Risk.HIGH if call.verb.endswith("exec") else Risk.MEDIUM,
            "runs an unknown program in a container",
            argv[0],
        )


@handles("docker-exec")
def execute(call: Call) -> Flow:
    if len(call.rest) < 2:
        call.high("runs a program in a container")
        return Flow("pipe")
    if (
        call.has("--privileged")
        or call.has("-u", "--user")
        and (call.value("-u", "--user") or "").split(":")[0] in ("root", "0")
    ):
        call.high("runs as another user in a container")
    inside(call, call.rest[1:])
    return Flow("pipe")


@handles("docker-list")
def list_containers(call: Call) -> Flow:
    if call.has("-q", "--quiet"):
        return Flow("pipe", line=NAME)
    if call.has("--format"):
        template = call.value("--format") or ""
        return Flow("pipe", line=NAME if re.fullmatch(r"\{\{\.(?:Names|ID|Name)\}\}", template) else ANY)
    return Flow("pipe", line=NAME + " " + ANY)


@handles("docker-copy")
def copy(call: Call) -> Flow:
    if len(call.operands) != 2:
        call.high("docker cp with a target named at run time")
        return Flow("pipe")
    source, target = call.operands
    if ":" in target.partition("/")[0]:
        call.read_tree(source)
        call.high("writes into a running container", target)
    else:
        call.write(target)
        if re.search(r"environ|shadow|\.env|secrets", source):
            call.high("reads a credential file", source)
    return Flow("pipe")


@handles("docker-inspect")
def inspect(call: Call) -> Flow:
    template = call.value("-f", "--format") or ""
    if ".Env" in template or ("json ." in template and re.search(r"json\s+\.(?:Config)?\s*}}", template)):
        call.high("prints a container's environment (may hold keys)")
    elif not template and call.verb in ("inspect", "container inspect"):
        call.find(Risk.MEDIUM, "prints a container's environment (may hold keys)")
    return Flow("pipe")


@handles("compose")
def compose(call: Call) -> Flow:
    for name, value in call.globals:
        if name in ("-f", "--file", "--env-file") and value and not is_literal(value):
            call.high("a compose file named at run time", value)
    return Flow("pipe")


_SECRET_KINDS = re.compile(
    r"(?:^|,)(?:secrets?|sealedsecrets?|externalsecrets?|all|certificatesigningrequests?)(?:[./,]|\Z)",
    re.IGNORECASE,
)


@handles("kubectl-get")
def get(call: Call) -> Flow:
    words = [word for word in call.operands if is_literal(word)]
    if any(is_unknown(word) for word in call.operands[:1]):
        call.high("a kind of resource computed at run time")
    output = call.value("-o", "--output") or ""
    for word in words[:1] if len(words) < 3 else words:
        if _SECRET_KINDS.search(word) and not word.lower().startswith("all"):
            if call.verb == "get" and output in ("", "wide", "name") or call.verb == "describe":
                call.find(Risk.HIGH, "reads secrets of the cluster", word)
            else:
                call.high("reads secrets of the cluster", word)
    if output == "name" or re.fullmatch(r"jsonpath=\{\.items\[[0-9*]\]\.metadata\.name\}", output):
        return Flow("pipe", line=NAME)
    return Flow("pipe", line=ANY if output not in ("", "wide") else NAME + " " + ANY)


@handles("kubectl-exec")
def kubectl_exec(call: Call) -> Flow:
    call.high("runs a program in the cluster")
    return Flow("pipe")
