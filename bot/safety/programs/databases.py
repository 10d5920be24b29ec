"""One-line SQL and its neighbours."""

import re

from bot.messages import Risk
from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import is_unknown, show

_READS = re.compile(
    r"(?is)\A\s*(?:select|show|explain|describe|desc|with|values|table|pragma|use|analyze\s+select|help|status|set\s+(?:search_path|statement_timeout|names|time\s*zone))\b"
)
_WRITES = re.compile(
    r"(?i)\b(?:insert|update|delete|drop|truncate|alter|create|grant|revoke|replace|merge|upsert|rename|vacuum|reindex|cluster|refresh|attach|detach|"
    r"copy|load|import|call|exec|execute|do|lock|kill|shutdown|flush|purge|reset|set|handler|install|uninstall|optimize|repair|analyze|"
    r"begin|commit|rollback|prepare|deallocate|listen|notify|comment|security|declare|fetch)\b"
)
_DESTROYS = re.compile(
    r"(?i)\b(?:delete|drop|truncate|alter|grant|revoke|copy|load|shutdown|kill|flush|purge|reset|attach|call|exec|execute|do|install|rename|set|"
    r"create\s+(?:\w+\s+)*(?:user|role|function|procedure|extension|trigger|server|subscription|database)|identified|password)\b"
)
_DANGER = re.compile(
    r"(?i)\b(?:into\s+(?:out|dump)file|(?<!insert )(?<!replace )(?<!merge )into\s+[\w/.~]+|program|"
    r"pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_write_\w+|lo_\w+|dblink\w*|pg_terminate_backend|"
    r"pg_cancel_backend|pg_reload_conf|pg_rotate_logfile|pg_switch_wal|pg_promote|setval|nextval|set_config|pg_advisory_\w+|query_to_xml\w*|"
    r"load_file|load_extension|writefile|readfile|edit|fts3_tokenizer|sys_exec|sys_eval|xp_\w+|sp_\w+|openrowset|sleep|benchmark|pg_sleep\w*|"
    r"pg_shadow|pg_authid|pg_user_mapping\w*|mysql\.user|user_password|passwd|password\w*|for\s+update|for\s+share)\b"
)
_PG_META = re.compile(
    r"\\(?:d[A-Za-z+]*|l\+?|conninfo|x|timing|encoding|z|sf\+?|sv\+?|pset\b.*|a|t|dx|q|\?|h)(?:\s+[\w.*\"+]*)*\s*\Z"
)
_SQLITE_META = re.compile(
    r"\.(?:tables|schema|fullschema|databases|indexes|indices|headers?|mode|width|dbinfo|show|"
    r"timer|nullvalue|help|quit|exit|eqp|separator|version|stats)(?:\s+[\w*%.\"' ]*)?\s*\Z"
)


def strip_sql(text: str) -> str | None:
    """Return SQL with its strings emptied and its comments out; None when a quote never ends."""
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in "'\"`":
            end = at + 1
            while True:
                end = text.find(char, end)
                if end < 0:
                    return None
                if text[end + 1 : end + 2] != char:
                    break
                end += 2
            inside = text[at + 1 : end]
            if "\\" in inside:
                return None
            # A quoted name still names what is read.
            out.append(f" {inside} " if char != "'" else " '' ")
            at = end + 1
        elif text.startswith("/*", at) or text.startswith("--", at) or char == "#":
            return None
        else:
            out.append(char)
            at += 1
    return "".join(out)


def judge_sql(call: Call, text: str, *, small: bool = False) -> None:
    """Judge SQL text: reading is low, small writes to a local file medium, the rest high."""
    if is_unknown(text):
        call.high("runs SQL computed at run time")
        return
    plain = strip_sql(text)
    if plain is None or "$$" in plain:
        call.high("SQL that can't be read for certain")
        return
    for statement in re.split(r";|\\g\b|\\G", plain):
        # EXPLAIN ANALYZE runs what it explains.
        statement = re.sub(
            r"(?i)\A\s*explain\s+(?:\([^)]*\)\s*|(?:analyze|verbose)\s+)*", "", statement
        ).strip()
        if not statement:
            continue
        meta = _SQLITE_META if small else _PG_META
        if statement[0] in "\\.":
            if not meta.match(statement):
                call.high("runs a command of the database client", statement)
            continue
        if "\\" in statement:
            call.high("runs a command of the database client", statement)
        elif _DANGER.search(statement):
            call.high("uses a database function that reads files, keys or sessions", statement)
        elif small and re.match(r"(?i)pragma\b.*=", statement):
            call.medium("changes or deletes database data", statement)
        elif _READS.match(statement) and not _WRITES.search(
            re.sub(r"(?i)\A\s*(?:set|show create|show|use)\b", "", statement)
        ):
            continue
        elif small and not _DESTROYS.search(statement):
            call.medium("changes or deletes database data", statement)
        elif not small and re.match(r"(?i)\A(?:show|explain(?!\s+analy))\b", statement):
            continue
        else:
            call.high("changes or deletes database data", statement)


def judge_input(call: Call, *, small: bool = False) -> None:
    if call.stdin.kind in ("pipe", "text") and not is_unknown(call.stdin.text):
        judge_sql(call, call.stdin.text, small=small)
    elif call.stdin.kind in ("pipe", "text", "file"):
        call.high("runs SQL from a file or a pipe")
    else:
        call.high("waits for SQL typed by hand")


@handles("psql", raw=True)
def psql(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    texts = [value or "" for name, value in call.options if name in ("-c", "--command")]
    if call.has("-f", "--file"):
        call.high("runs SQL from a file or a pipe")
    for text in texts:
        judge_sql(call, text)
    if not texts and not call.has("-l", "--list", "-V", "--version", "-f", "--file", "-?", "--help"):
        judge_input(call)
    return Flow("pipe", taints=frozenset(["data"]))


@handles("mysql", raw=True)
def mysql(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    texts = [value or "" for name, value in call.options if name in ("-e", "--execute")]
    for text in texts:
        if re.search(r"\\!|\bsystem\b|\\\.|\bsource\b|\btee\b|\bpager\b", text):
            call.high("runs a command of the database client", text)
        judge_sql(call, text)
    if not texts and not call.has("-V", "--version", "--help", "-?"):
        judge_input(call)
    return Flow("pipe", taints=frozenset(["data"]))


@handles("sqlite3", raw=True)
def sqlite3(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    texts = [*call.operands[1:], *(value or "" for name, value in call.options if name == "-cmd")]
    if call.operands:
        path = call.operands[0]
        call.read(path)
        if re.search(r"(?i)(?:cookies|login data|key4|wallet)", path):
            call.high("reads a credential file", path)
    before = len(call.scan.findings)
    for text in texts:
        judge_sql(call, text, small=True)
    if not texts and not call.has("-version", "-help"):
        judge_input(call, small=True)
    if len(call.scan.findings) > before and call.operands and call.operands[0] != ":memory:":
        call.write(call.operands[0])
    return Flow("pipe", taints=frozenset(["data"]))


_REDIS_READS = frozenset(
    """
    ping info dbsize ttl pttl type keys scan get mget strlen exists
    llen lrange lindex hget hgetall hkeys hlen hvals hexists hmget
    hscan
    scard smembers sismember sscan zcard zrange zscore zcount zrangebyscore zrevrange
    zrank zscan xlen xrange xinfo time lastsave
    role
    command memory slowlog latency object
    randomkey getrange bitcount pfcount geopos geodist echo cluster pubsub hello""".split()
)
_REDIS_WRITES = frozenset(
    (
        "set setex setnx psetex incr decr incrby decrby append hset hsetnx hincrby lpush rpush "
        "sadd zadd zincrby expire persist pexpire mset publish xadd touch getset"
    ).split()
)


@handles("redis-cli", raw=True)
def redis(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    words = [word.lower() for word in call.operands]
    if not words:
        if not call.has(
            "--scan",
            "--stat",
            "--latency-history",
            "--latency",
            "--bigkeys",
            "--memkeys",
            "--hotkeys",
            "-v",
            "--version",
            "--help",
        ):
            call.high("runs commands from its input")
        return Flow("pipe")
    verb = words[0]
    if verb in _REDIS_READS:
        if (
            verb in ("memory", "slowlog", "latency", "cluster")
            and words[1:2]
            and words[1]
            in (
                "purge",
                "reset",
                "failover",
                "meet",
                "forget",
                "addslots",
                "delslots",
                "flushslots",
                "replicate",
                "setslot",
                "saveconfig",
            )
        ):
            call.high("changes the database server")
        if any(is_unknown(word) for word in words[:2]):
            call.find(Risk.MEDIUM, "asks the database for a key computed at run time")
    elif verb == "config" and words[1:2] == ["get"]:
        if any(re.search(r"pass|auth|user|\*|\x05", word) for word in words[2:]):
            call.high("reads the database's password")
    elif verb == "client" and words[1:2] and words[1] in ("list", "info", "id", "getname"):
        pass
    elif verb in _REDIS_WRITES:
        call.medium("changes database data")
    else:
        call.high("changes or deletes database data")
    return Flow("pipe", taints=frozenset(["data"]))


@handles("mongo")
def mongo(call: Call) -> Flow:
    text = call.value("--eval")
    if text is None:
        call.high("runs code from a file or typed by hand")
        return Flow("pipe")
    read = re.fullmatch(
        r"""(?x)\s*(?:print(?:json)?\()?(?:db(?:\.[\w]+|\[["'][\w.]+["']\]|\.getCollection\(["'][\w.]+["']\))*
        (?:\.(?:find|findOne|count|countDocuments|estimatedDocumentCount|stats|distinct|getIndexes|serverStatus|getCollectionNames|hello|version|limit|sort|pretty|
        toArray|explain|adminCommand)\((?:[^()`;=]|ISODate\("[^"]*"\))*\))+(?:\.\w+)*|rs\.status\(\)|show\s+(?:dbs|databases|collections))\)?\s*;?\s*""",
        text,
    )
    if (
        read is None
        or "$where" in text
        or "$function" in text
        or "$out" in text
        or re.search(
            r"adminCommand\((?!\s*[{\"']\s*[\"']?(?:ping|listDatabases|serverStatus|replSetGetStatus))", text
        )
    ):
        call.high("runs code in the database", show(text))
    return Flow("pipe", taints=frozenset(["data"]))
