"""The command line and the process: exit codes, what is said, systemd's words (issue 2 §2, §8)."""

import asyncio
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bot import __version__
from bot.demo.model_server import Reply
from tests.e2e.harness import puppet, town
from tests.tools.wallet.town import write_credentials

EX_CONFIG = 78


async def kai_bot(environ: Mapping[str, str], *arguments: str, within: float = 20.0) -> tuple[int, str, str]:
    """Run the command line to its end; return exit code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "--env-file", os.devnull, *arguments,
        env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


# ── kai-bot check ──────────────────────────────────────────────────────────────────────────────────────


async def test_check_says_that_all_works(tmp_path: Path) -> None:
    async with town(tmp_path, [Reply("ready")], start=False) as here:
        code, out, err = await kai_bot(here.settings, "check")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "settings: ok",
        "telegram: ok, this is @kai_test_bot",
        "model custom:scripted: ok, native tools, it said 'ready'",
    ]
    assert not (tmp_path / "state").exists()


async def test_check_names_everything_that_fails_and_exits_with_1(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False) as here:
        token = here.emulator.token[:-5] + "wrong"
        wrong = {
            "TELEGRAM_BOT_TOKEN": token,
            "CUSTOM_API_KEY": "another-key",
            "LLM_FALLBACKS": "anthropic:scripted",
        }
        code, out, _ = await kai_bot(here.settings | wrong, "check")

    assert code == 1
    assert "telegram: FAILED: TELEGRAM_BOT_TOKEN is not known to telegram" in out
    assert "model custom:scripted: FAILED: custom refused the key (401)" in out
    assert "model anthropic:scripted: ok" in out
    assert token not in out
    assert "another-key" not in out


async def test_check_tells_an_unreachable_telegram_from_a_wrong_token(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False) as here:
        code, out, _ = await kai_bot(here.settings | {"TELEGRAM_API_URL": "http://127.0.0.1:9"}, "check")

    assert code == 1
    assert re.search(r"^telegram: FAILED: .", out, re.MULTILINE)
    assert "not known to telegram" not in out


async def test_check_names_credentials_that_others_can_read(tmp_path: Path) -> None:
    async with town(tmp_path, [Reply("ready")], start=False) as here:
        write_credentials(tmp_path / "state" / "credentials", wallet="EVM_PRIVATE_KEY=0x12")
        (tmp_path / "state" / "credentials" / "wallet.env").chmod(0o644)
        code, out, _ = await kai_bot(here.settings, "check")

    assert code == 1
    assert re.search(r"^credentials: FAILED: .*wallet.env' can be read by others", out, re.MULTILINE)
    assert "0x12" not in out


async def test_the_credentials_folder_is_the_bots_own_to_kai_bot_risk(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False, CREDENTIALS_DIR=str(tmp_path / "keys")) as here:
        _, out, _ = await kai_bot(here.settings, "risk", f"cat {tmp_path}/keys/notes")

    assert "reads the bot's own files" in out


# ── kai-bot wallet ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_wallet_is_made_before_the_bot_is_set_up_and_its_key_is_not_shown(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STATE_DIR": str(tmp_path / "state")}

    code, out, err = await kai_bot(environ, "wallet", "new")
    shown = await kai_bot(environ, "wallet", "address")
    again = await kai_bot(environ, "wallet", "new")

    file = tmp_path / "state" / "credentials" / "wallet.env"
    assert (code, err) == (0, "")
    assert re.search(r"^evm +0x[0-9a-fA-F]{40}$", out, re.MULTILINE)
    assert shown[1] in out
    assert file.read_text().removeprefix("EVM_PRIVATE_KEY=").strip() not in out
    assert again[0] == 1
    assert "holds EVM_PRIVATE_KEY already" in again[2]


async def test_the_limits_are_shown_and_mistakes_in_them_are_named(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    shown = await kai_bot(
        environ | {"WALLET_MAX_TRANSFER": "ETH=1", "WALLET_MAX_DAY": "ETH=2"}, "wallet", "limits"
    )
    wrong = await kai_bot(environ | {"WALLET_MAX_TRANSFER": "ETH=1"}, "wallet", "limits")

    assert shown[0] == 0
    assert "ETH: 1 a transfer, 2 in 24 hours" in shown[1]
    assert wrong[0] == EX_CONFIG
    assert "WALLET_MAX_DAY" in wrong[2]


async def test_mistakes_about_money_keep_the_bot_from_starting(tmp_path: Path) -> None:
    wrong = {"BASE_RPC_URLS": "nowhere", "X_API_URL": "x", "WALLET_MAX_DAYS": "ETH=1"}
    async with town(tmp_path, puppet, start=False) as here:
        code, _, err = await kai_bot(here.settings | wrong, "run")

    assert code == EX_CONFIG
    for name in wrong:
        assert re.search(rf"^  - {name}\b", err, re.MULTILINE), name


# ── wrong settings ─────────────────────────────────────────────────────────────────────────────────────


async def test_all_mistakes_in_the_settings_are_listed_at_once(tmp_path: Path) -> None:
    wrong = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TELEGRAM_BOT_TOKEN": "not-a-token-but-secret",
        "LLM_MODEL": "nobody:gpt",
        "MAX_STEPS": "many",
        "WORK_DIR": str(tmp_path / "nowhere"),
        "LLM_TOOLS": "magic",
    }

    code, out, err = await kai_bot(wrong, "run")

    assert (code, out) == (EX_CONFIG, "")
    assert err.startswith("kai-bot can't start; mend these settings:\n")
    for name in ("TELEGRAM_BOT_TOKEN", "ADMIN_IDS", "LLM_MODEL", "MAX_STEPS", "WORK_DIR", "LLM_TOOLS"):
        assert re.search(rf"^  - {name}\b", err, re.MULTILINE), name
    assert "not-a-token-but-secret" not in err
    assert "Traceback" not in err


async def test_a_token_that_telegram_does_not_know_ends_the_process_with_78(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False) as here:
        token = here.emulator.token[:-5] + "wrong"
        code, _, err = await kai_bot(here.settings | {"TELEGRAM_BOT_TOKEN": token}, "run")

    assert code == EX_CONFIG
    assert "TELEGRAM_BOT_TOKEN: telegram does not know this token (401)" in err
    assert token not in err
    assert "Traceback" not in err


async def test_a_second_process_on_the_same_state_folder_ends_with_78_and_the_first_goes_on(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say one")
        await here.alice.chat.expect("one")

        code, _, err = await kai_bot(here.settings, "run")
        here.alice.send("say two")
        await here.alice.chat.expect("two")

    assert code == EX_CONFIG
    assert "is in use by another kai-bot" in err


# ── living and ending ──────────────────────────────────────────────────────────────────────────────────


async def test_sigterm_ends_it_quickly_with_0(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say hello")
        await here.alice.chat.expect("hello")
        assert here.process is not None
        began = time.monotonic()

        here.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(here.process.wait(), 10)

        assert code == 0
        assert time.monotonic() - began < 2
        assert "Traceback" not in here.log
        assert "ERROR" not in here.log


async def test_systemd_is_told_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    name = f"kai-bot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        systemd.setblocking(False)
        async with town(tmp_path, puppet, NOTIFY_SOCKET=f"@{name}", WATCHDOG_USEC="1000000") as here:
            said = [await word(systemd)]
            began = time.monotonic()
            while said.count("WATCHDOG=1") < 3:
                said.append(await word(systemd))
            took = time.monotonic() - began
            await here.stop()
            while said[-1] != "STOPPING=1":
                said.append(await word(systemd))

    assert said[0] == "READY=1"
    assert "STATUS=polling as @kai_test_bot" in said
    assert 0.8 < took < 5


async def test_while_telegram_is_out_of_reach_it_is_not_ready_and_still_ends_quickly(tmp_path: Path) -> None:
    name = f"kai-bot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        systemd.setblocking(False)
        unreachable = "http://127.0.0.1:9"
        async with town(tmp_path, puppet, NOTIFY_SOCKET=f"@{name}", TELEGRAM_API_URL=unreachable) as here:
            first = await word(systemd)
            began = time.monotonic()
            code = await here.stop()
            took = time.monotonic() - began

    assert first.startswith("STATUS=telegram can't be reached")
    assert here.emulator.token not in first
    assert code == 0
    assert took < 2


async def test_the_version_is_printed() -> None:
    code, out, _ = await kai_bot({"PATH": os.environ["PATH"]}, "--version")

    assert (code, out) == (0, f"kai-bot {__version__}\n")


async def test_an_unknown_command_is_wrong_usage() -> None:
    code, _, err = await kai_bot({"PATH": os.environ["PATH"]}, "fly")

    assert code == 2
    assert "fly" in err


async def word(systemd: socket.socket) -> str:
    """Return the next datagram."""
    loop = asyncio.get_running_loop()
    return (await asyncio.wait_for(loop.sock_recv(systemd, 1000), 10)).decode()
