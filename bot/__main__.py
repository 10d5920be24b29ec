"""The command line: `kai-bot` or `python -m bot`."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bot import __version__
from bot.config import Settings, find_state_dir, load_settings
from bot.environ import load_environ
from bot.errors import ConfigError, KaiError, LLMError
from bot.logs import set_up_logging
from bot.messages import ToolDefinition
from bot.redact import Redactor

EX_CONFIG = 78
"""From sysexits.h; the systemd unit does not restart on it: the same settings would fail again."""
UNUSED = ("click", "pygments", "rich", "trio")
"""What httpx and httpcore take in where it happens to be installed, for a command line and an event loop of
their own: 8 MB that the bot never uses."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the exit code: 0 done, 1 failed, 2 wrong usage, 78 wrong settings."""
    options = parser().parse_args(arguments)
    try:
        result: int = options.run(options)
    except ConfigError as exc:
        print("kai-bot can't start; mend these settings:", file=sys.stderr)
        for problem in exc.problems:
            print(f"  - {problem}", file=sys.stderr)
        return EX_CONFIG
    except KaiError as exc:
        print(f"kai-bot: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return result


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="kai-bot", description="A self-hosted Telegram agent that asks before anything risky."
    )
    top.add_argument("--version", action="version", version=f"kai-bot {__version__}")
    top.add_argument(
        "--env-file", type=Path, default=Path(".env"), help="settings; the environment wins (default: .env)"
    )
    top.set_defaults(run=run_bot)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("run", help="run the bot (the default)").set_defaults(run=run_bot)
    checking = commands.add_parser(
        "check", help="check the settings, reach Telegram and the model once, say what works"
    )
    checking.add_argument(
        "--model", metavar="PROVIDER:MODEL", help="only try this model out: a tool call, there and back"
    )
    checking.set_defaults(run=check)
    commands.add_parser(
        "models", help="list the providers: which key is here, how tools travel, what is cached"
    ).set_defaults(run=show_models)
    parse = commands.add_parser(
        "parse", help="show what the bot reads in a model's text: calls, visible text, problems"
    )
    parse.add_argument("file", nargs="?", default="-", metavar="FILE", help="the text; - is standard input")
    parse.add_argument("--tools", type=Path, help="JSON list of tool definitions (default: the bot's own)")
    parse.add_argument("--json", action="store_true", help="print JSON")
    parse.set_defaults(run=parse_text)
    risk = commands.add_parser(
        "risk", help="say how a command would be judged, and by which rules; it is not run"
    )
    risk.add_argument("text", metavar="'COMMAND'")
    risk.add_argument("--cwd", type=Path, default=Path.cwd(), help="where it would start (default: here)")
    risk.set_defaults(run=show_risk)
    audit = commands.add_parser("audit", help="list who decided and ran what, oldest first")
    audit.add_argument("-n", type=int, default=100, metavar="LINES", help="the last so many (default: 100)")
    audit.add_argument("--json", action="store_true", help="print a JSON object a line")
    audit.set_defaults(run=show_audit)
    add_wallet_commands(commands)
    return top


def add_wallet_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    wallet = commands.add_parser("wallet", help="make or show the wallet that transfer_wallet pays from")
    which = wallet.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, help_text in (
        ("new", "make a key and keep it in the credentials folder"),
        ("import", "keep a key that is typed or piped in"),
        ("address", "show the addresses money can be sent to"),
        ("limits", "show what may be sent, and to whom"),
    ):
        command = which.add_parser(name, help=help_text)
        if name in ("new", "import"):
            command.add_argument("kind", choices=("evm", "solana"), nargs="?", default="evm")
        command.set_defaults(run=run_wallet, wallet_command=name, kind="evm")


def run_bot(options: argparse.Namespace) -> int:
    for name in UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    from bot import app

    settings, environ = load(options)
    redactor = Redactor(settings.secrets)
    set_up_logging(settings.log_level, settings.log_format, redactor)
    asyncio.run(app.run(settings, environ, redactor, env_file=options.env_file))
    return 0


def check(options: argparse.Namespace) -> int:
    from bot import app

    if options.model:
        return check_model(options)
    settings, environ = load(options)
    redactor = Redactor(settings.secrets)
    set_up_logging("ERROR", settings.log_format, redactor)
    print("settings: ok")
    works = True
    for name, result in asyncio.run(app.check(settings, environ)):
        works = works and not isinstance(result, Exception)
        print(f"{name}: " + redactor.redact(f"FAILED: {result}" if isinstance(result, Exception) else result))
    return 0 if works else 1


def check_model(options: argparse.Namespace) -> int:
    """Try a model out; Telegram's settings may still be missing."""
    from bot.llm.probe import probe_model
    from bot.llm.providers import provider_secrets

    environ, problems = load_environ(options.env_file, os.environ)
    if problems:
        raise ConfigError(*problems)
    redactor = Redactor(provider_secrets(environ))
    set_up_logging("ERROR", "text", redactor)
    try:
        findings = asyncio.run(probe_model(options.model, environ))
    except LLMError as exc:
        print(f"FAILED: {redactor.redact(str(exc))}")
        return 1
    for found in findings:
        verdict = {True: "ok: ", False: "FAILED: ", None: ""}[found.ok]
        print(redactor.redact(f"{found.name}: {verdict}{found.text}"))
    return 1 if any(found.ok is False for found in findings) else 0


def show_models(options: argparse.Namespace) -> int:
    from bot.llm.probe import provider_lines

    environ, _ = load_environ(options.env_file, os.environ)
    print("\n".join(provider_lines(environ)))
    return 0


def parse_text(options: argparse.Namespace) -> int:
    """Show how a model's text is read, so that a user can report a case. Runs nothing."""
    from bot.protocol import as_json, as_text, report

    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
        tools = read_definitions(options.tools) if options.tools else own_definitions()
    except (OSError, UnicodeDecodeError) as exc:
        print(f"kai-bot parse: {exc}", file=sys.stderr)
        return 2
    found = report(text, tools)
    print(as_json(found) if options.json else as_text(found))
    return 1 if found.problems else 0


def show_risk(options: argparse.Namespace) -> int:
    """Say how a command is judged. Settings are needed only to find the operator's rules."""
    from bot import app
    from bot.safety import describe
    from bot.tools.wallet import WalletSettings

    rules = None
    try:
        settings, environ = load(options)
    except ConfigError:
        print("kai-bot risk: no valid settings, so without the operator's rules", file=sys.stderr)
    else:
        credentials = WalletSettings.read(environ, state_dir=settings.state_dir)[0].credentials_dir
        rules = app.rules_in_force(settings.state_dir, options.env_file, credentials)
    print(describe(options.text, cwd=str(options.cwd.absolute()), rules=rules))
    return 0


def show_audit(options: argparse.Namespace) -> int:
    """List the audit; the bot may be running."""
    from bot.store.sqlite.ledger import read_audit
    from bot.telegram.commands.gate import audit_line

    settings, _ = load(options)
    for event in reversed(read_audit(settings.state_dir / "kai.db", options.n)):
        if options.json:
            where = event.conversation
            row = {
                "at": event.at,
                "action": event.action,
                "chat_id": where.chat_id if where else None,
                "thread_id": where.thread_id if where else None,
                "user_id": event.user_id,
                **event.detail,
            }
            print(json.dumps(row, ensure_ascii=False))
        else:
            print(audit_line(event))
    return 0


def run_wallet(options: argparse.Namespace) -> int:
    """Make or show the wallet; the bot need not be set up yet."""
    from bot import wallet_cli

    environ, problems = load_environ(options.env_file, os.environ)
    if problems:
        raise ConfigError(*problems)
    return wallet_cli.run_wallet(options, environ, print, state_dir=find_state_dir(environ))


def read_definitions(path: Path) -> Sequence[ToolDefinition]:
    """Read tool definitions: a JSON list of objects with name, description and parameters.

    Raises:
        ConfigError: It is no such list.
    """
    try:
        return [
            ToolDefinition(tool["name"], tool.get("description", ""), tool.get("parameters", {}))
            for tool in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise ConfigError(f"--tools {str(path)!r} is no JSON list of tool definitions: {exc!r}") from exc


def own_definitions() -> Sequence[ToolDefinition]:
    from bot import app

    return app.tool_definitions()


def load(options: argparse.Namespace) -> tuple[Settings, Mapping[str, str]]:
    from bot.llm.providers import provider_problems, provider_secrets
    from bot.tools.settings import tool_problems, tool_setting_names

    environ, problems = load_environ(options.env_file, os.environ)

    def elsewhere(settings: Settings) -> Sequence[str]:
        models = [model for model in (settings.llm_model, *settings.llm_fallbacks) if model]
        return [*provider_problems(models, environ), *tool_problems(environ, settings.state_dir)]

    settings = load_settings(environ, problems=problems, others=tool_setting_names(), check=elsewhere)
    # Not every provider names its key so that it looks like one.
    secrets = {*settings.secrets, *provider_secrets(environ)}
    return replace(settings, secrets=tuple(sorted(secrets))), environ


if __name__ == "__main__":
    sys.exit(main())
