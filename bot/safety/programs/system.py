"""Programs that show or change the machine."""

import re

from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import ANY, HOLES, NAME, NUM, PATH, is_literal, is_unknown


@handles("date", raw=True)
def date(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    for word in call.operands:
        if not word.startswith("+"):
            call.high("sets the clock", word)
    formats = "".join(call.operands)
    if re.fullmatch(r"\+(?:%[sYmdHMSNjuV])+", formats):
        return Flow("pipe", line=NUM, safe=True)
    return Flow("pipe", line=NAME, safe=True)


@handles("postconf")
def postconf(call: Call) -> Flow:
    for word in call.operands:
        if "=" in word or not is_literal(word):
            call.high("changes mail settings", word)
    return Flow("pipe", taints=frozenset(["data"]))


@handles("kill", raw=True)
def kill(call: Call) -> Flow:
    words = list(call.args)
    if not words:
        call.high("kill without a process")
        return Flow("pipe")
    if words[0] in ("-l", "-L", "--list", "--table"):
        return Flow("pipe")
    signal = "TERM"
    targets: list[str] = []
    while words:
        word = words.pop(0)
        if word in ("-s", "--signal", "-n"):
            signal = words.pop(0) if words else ""
        elif word.startswith("--signal="):
            signal = word.partition("=")[2]
        elif word == "--":
            targets += words
            break
        elif word.startswith("-") and not targets and re.fullmatch(r"-[A-Za-z0-9+]+", word):
            signal = word[1:]
        else:
            targets.append(word)
    signal = signal.upper().removeprefix("SIG")
    if signal == "0":
        return Flow("pipe")
    if signal not in (
        "TERM",
        "15",
        "HUP",
        "1",
        "INT",
        "2",
        "USR1",
        "10",
        "USR2",
        "12",
        "CONT",
        "18",
        "QUIT",
        "3",
    ):
        call.high("ends a process by force")
    for target in targets:
        if target in (NUM, NAME) or re.fullmatch(r"[2-9]|[1-9]\d+", target) or re.fullmatch(r"%\d+", target):
            call.medium("ends a process", target)
        else:
            call.high("ends processes", target)
    if not targets:
        call.high("ends processes")
    return Flow("pipe")


@handles("ip", raw=True)
def ip(call: Call) -> Flow:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-n", "-netns", "-b", "-batch", "-force") or is_unknown(option):
            call.high("changes the network", option)
            return Flow("pipe")
        if option in ("-f", "-family", "-rc", "-rcvbuf", "-l", "-loops"):
            words = words[1:]
    words = words[1:]
    if words and is_literal(words[0]):
        verb = words[0]
        if verb == "monitor" or any(
            "show".startswith(verb) or "list".startswith(verb) or verb in ("lst", "get", "help") for _ in [0]
        ):
            if verb in ("s",):
                call.high("changes the network")
            return Flow("pipe")
        if (
            verb in ("dev", "via", "to", "table", "up", "vrf", "scope", "proto", "type", "default", "match")
            and len(words) <= 4
        ):
            return Flow("pipe")
        call.high("changes the network")
    elif words:
        call.high("changes the network")
    return Flow("pipe")


@handles("ifconfig", raw=True)
def ifconfig(call: Call) -> Flow:
    if [word for word in call.args if not word.startswith("-")][1:] or any(
        is_unknown(word) for word in call.args
    ):
        call.high("changes the network")
    return Flow("pipe")


@handles("sysctl", raw=True)
def sysctl(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    if any("=" in word or is_unknown(word) for word in call.operands):
        call.high("changes the kernel's settings")
    for word in call.operands:
        if "/" in word or ".." in word:
            call.high("reads a file under another name", word)
    return Flow("pipe", safe=True)


@handles("mount", raw=True)
def mount(call: Call) -> Flow:
    if (
        any(
            not re.fullmatch(r"-[lvhV]+|--show-labels|--version|--help|-t|[a-z0-9,.]+", word)
            for word in call.args
        )
        or any(not word.startswith("-") for word in call.args)
        and "-t" not in call.args
        or call.args.count("-t")
        and len([word for word in call.args if not word.startswith("-")]) > 1
    ):
        call.high("changes what is mounted")
    return Flow("pipe")


@handles("crontab", raw=True)
def crontab(call: Call) -> Flow:
    if call.args == ["-l"]:
        return Flow("pipe", taints=frozenset(["data"]))
    if len(call.args) == 3 and "-l" in call.args and "-u" in call.args and is_literal(call.args[-1]):
        return Flow("pipe", taints=frozenset(["data"]))
    call.high("changes start-up or scheduled jobs")
    return Flow("pipe")


@handles("at", raw=True)
def at(call: Call) -> Flow:
    if call.args and call.args[0] in ("-l", "-V", "-c"):
        return Flow("pipe")
    call.high("changes start-up or scheduled jobs")
    return Flow("pipe")


@handles("iptables", raw=True)
def iptables(call: Call) -> Flow:
    text = list(call.args)
    listing = any(
        re.fullmatch(r"-[nvxw]*[LS][nvxw]*|--list|--list-rules|-V|--version", word) for word in text
    )
    changing = any(
        re.match(
            r"-[AIDRFXNPEZC](?:\Z|[a-z])|--(?:append|insert|delete|replace|flush|new|policy|zero|rename)",
            word,
        )
        for word in text
    )
    if (
        not listing
        or changing
        or any(is_unknown(word) for word in text)
        or "--modprobe" in " ".join(text)
        or any(word.startswith("-M") for word in text)
    ):
        call.high("changes firewall rules")
    return Flow("pipe")


@handles("firewall-cmd", raw=True)
def firewall_cmd(call: Call) -> Flow:
    for word in call.args:
        if not re.match(r"--(?:state|list-|get-|query-|info-|zone=|permanent|version|help)", word):
            call.high("changes firewall rules", word)
    if not call.args:
        call.high("changes firewall rules")
    return Flow("pipe")


def is_own_service(call: Call, unit: str) -> bool:
    name = re.sub(r"\.(?:service|timer|socket|target)\Z", "", unit)
    return any(name == own or name.startswith(own + "@") for own in call.scan.rules.own_services)


@handles("systemctl")
def systemctl(call: Call) -> Flow:
    """Units: the bot's own is never touched without a question."""
    for unit in call.operands:
        if (
            is_unknown(unit)
            or any(char in HOLES for char in unit)
            and not is_literal(unit)
            and NAME not in unit
        ):
            call.high("acts on a service whose name is computed at run time", unit)
        elif re.match(
            r"(?:reboot|poweroff|halt|rescue|emergency|kexec|shutdown|exit|hibernate|suspend|ctrl-alt-del)\.target\Z",
            unit,
        ):
            call.high("stops or restarts the machine", unit)
        elif is_own_service(call, unit):
            call.high("acts on the service that runs this bot", unit)
        elif re.match(
            r"(?:sshd?|network\w*|systemd-\w+|firewalld|ufw|nftables|iptables|dbus|cron|fail2ban|NetworkManager|auditd|docker|containerd)(?:\.\w+)?\Z",
            unit,
        ):
            call.high("acts on a service that the server needs to be reached or kept safe", unit)
    return Flow("pipe")


@handles("systemctl-show")
def systemctl_show(call: Call) -> Flow:
    """`show` without -p, or with Environment, prints what units were started with."""
    wanted = [value or "" for name, value in call.options if name in ("-p", "--property", "-P")]
    if any(re.search(r"(?i)environment", value) for value in wanted):
        call.high("prints the environment of a service (may hold keys)")
    elif call.verb == "show-environment":
        call.high("prints the environment (may hold keys)")
    return Flow("pipe")


@handles("service", raw=True)
def service(call: Call) -> Flow:
    words = [word for word in call.args if is_literal(word)]
    if words and not words[0].startswith("-") and not re.fullmatch(r"[\w@.\-]+", words[0]):
        call.high("runs a program named by a path", words[0])
    if (
        call.args in (["--status-all"], ["--version"], ["--help"])
        or words[1:] == ["status"]
        and len(call.args) == 2
    ):
        return Flow("pipe")
    if len(call.args) == 2 and words[1:] in (["restart"], ["reload"], ["start"]):
        call.operands = words[:1]
        systemctl(call)
        call.medium("restarts a service")
    else:
        call.high("stops or disables a service")
    return Flow("pipe")


@handles("supervisor")
def supervisor(call: Call) -> Flow:
    if any(word == "all" or any(char in HOLES for char in word) for word in call.operands):
        call.high("acts on every service")
    for word in call.operands:
        if is_own_service(call, word):
            call.high("acts on the service that runs this bot", word)
    return Flow("pipe")


@handles("hostname", raw=True)
def hostname(call: Call) -> Flow:
    for word in call.args:
        if not re.fullmatch(
            r"-[fIisdAy]+|--(?:fqdn|all-ip-addresses|ip-address|short|domain|long|version|help|all-fqdns)",
            word,
        ):
            call.high("changes the name of this machine", word)
    return Flow("pipe", line=NAME)


@handles("ps")
def ps(call: Call) -> Flow:
    """`ps e` prints the environment of every process."""
    for word in call.args:
        if (
            not word.startswith("-")
            and re.fullmatch(r"[A-Za-z]*e[A-Za-z]*", word)
            and re.fullmatch(r"[aAcefghHjlLmnNrsStTuUvVwxXZ]+", word)
        ) and (call.args.index(word) == 0 or call.args[0] not in ("-o", "-C", "-u", "-U", "-p", "--sort")):
            previous = call.args[call.args.index(word) - 1] if call.args.index(word) else ""
            if not re.fullmatch(r"-[A-Za-z]*[oCuUpgGtN]|--\w+", previous):
                call.high("prints the environment of processes (may hold keys)", word)
    if any(re.search(r"\benviron\b", word) for word in call.args):
        call.high("prints the environment of processes (may hold keys)")
    options = [value or "" for name, value in call.options if name in ("-o", "--format")]
    if options and all(
        re.fullmatch(r"(?:pid|ppid|rss|vsz|pcpu|pmem|nlwp|uid)=?", value) for value in options
    ):
        return Flow("pipe", line=NUM, safe=True)
    if not options and call.args[:1] and call.args[0] in ("aux", "auxw", "auxww", "-ef", "-aux", "-eF"):
        return Flow("pipe", line=f"{NAME} {NUM} {ANY}")
    return Flow("pipe")


@handles("pgrep")
def pgrep(call: Call) -> Flow:
    return Flow("pipe", line=NUM if not call.has("-a", "-l", "--list-full", "--list-name") else NAME)


@handles("lsof")
def lsof(call: Call) -> Flow:
    return Flow("pipe", line=NUM if call.has("-t") else ANY)


@handles("id")
def user_id(call: Call) -> Flow:
    return Flow("pipe", line=NUM if call.has("-u", "-g", "-G") and not call.has("-n") else NAME)


@handles("stat")
def stat(call: Call) -> Flow:
    template = call.value("-c", "--format", "--printf", "-f") or ""
    if re.fullmatch(r"(?:%[sYZXWugabBhi]\s*(?:\\n)?)+", template):
        return Flow("pipe", line=NUM, safe=True)
    return Flow("pipe", line=PATH if not template else "\x00")


@handles("tmux", raw=True)
def tmux(call: Call) -> Flow:
    words = list(call.args)
    while words and words[0] in ("-2", "-u", "-q", "-L", "-S"):
        if words.pop(0) in ("-L", "-S"):
            words = words[1:]
    if not words:
        call.high("opens a terminal")
        return Flow("pipe")
    verb, *rest = words
    if call.program == "screen":
        if verb not in ("-ls", "-list", "-v", "--version"):
            call.high("acts on terminal sessions")
        return Flow("pipe")
    if verb in (
        "ls",
        "list-sessions",
        "list-windows",
        "lsw",
        "list-panes",
        "lsp",
        "-V",
        "has-session",
        "has",
        "info",
        "list-keys",
        "list-commands",
        "display-message",
    ):
        if verb == "display-message" and any("#(" in word for word in rest):
            call.high("runs code given as text")
        return Flow("pipe")
    if verb in ("capture-pane", "capturep"):
        return Flow("pipe", taints=frozenset(["data"]))
    if verb in ("new-session", "new", "new-window", "neww"):
        call.medium("starts a terminal session")
        takes = {"-s", "-n", "-c", "-t", "-x", "-y", "-F"}
        text: list[str] = []
        while rest:
            word = rest.pop(0)
            if word in takes:
                rest = rest[1:]
            elif word in ("-d", "-A", "-P", "-D"):
                continue
            elif word.startswith("-") and not text:
                if word == "-e":
                    call.high("changes which code runs later")
                elif not re.fullmatch(r"-[dAPD]+s?", word):
                    call.high("an option of tmux that is not understood", word)
                if word.endswith("s"):
                    rest = rest[1:]
            else:
                text = [word, *rest]
                break
        if text:
            return call.scan.read_inner(" ".join(text), call.source, dialect="sh")
        return Flow("pipe")
    call.high("acts on terminal sessions")
    return Flow("pipe")


@handles("logger")
def logger(call: Call) -> Flow:
    if call.has("-n", "--server", "-u", "--socket"):
        call.high("sends local data to another machine")
    if call.has("-f", "--file"):
        call.read(call.value("-f", "--file") or "")
    return Flow("pipe")


@handles("passwd-entries")
def getent(call: Call) -> Flow:
    if call.operands[:1] and call.operands[0] in ("shadow", "gshadow"):
        call.high("reads a credential file", call.operands[0])
    if call.operands[:1] and call.operands[0] in ("hosts", "ahosts", "ahostsv4", "ahostsv6"):
        from bot.safety import network

        for word in call.operands[1:]:
            network.judge_host(call.scan, word)
    return Flow("pipe")


@handles("no-host")
def no_host(call: Call) -> Flow:
    for word in call.operands:
        if "@" in word or not is_literal(word):
            call.high("asks another machine", word)
    return Flow("pipe")
