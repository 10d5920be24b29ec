"""Services of this server that have failed, as systemd sees them."""

import asyncio
import contextlib
import shutil
from pathlib import Path

TIMEOUT = 3.0


async def failed_units() -> list[str] | None:
    """Return their names; None where there is no systemd, or it does not answer in time."""
    program = shutil.which("systemctl")
    if program is None or not Path("/run/systemd/system").is_dir():
        return None
    process = await asyncio.create_subprocess_exec(
        program, "--failed", "--no-legend", "--plain", "--no-pager",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT):
            output, _ = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return None
    return read_units(output.decode(errors="replace")) if process.returncode == 0 else None


def read_units(listed: str) -> list[str]:
    """Return the unit names of `systemctl --failed --no-legend --plain`: the first word of each line."""
    return [line.split()[0] for line in listed.splitlines() if line.strip()]
