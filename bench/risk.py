"""What the classifier costs: `python bench/risk.py`, from the project's root.

Prints the time to import it, the first verdict, commands a second over the labelled commands, the slowest of
them, and the memory it adds.
"""

import json
import resource
import statistics
import sys
import time
from pathlib import Path


def resident() -> int:
    """Return the peak resident size in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    root = Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(root))
    lines = (root / "tests" / "cases" / "risk.jsonl").read_text(encoding="utf-8").splitlines()
    commands = [json.loads(line)["command"] for line in lines]
    before = resident()

    started = time.perf_counter()
    from bot.safety import classify

    imported = time.perf_counter()
    classify("ls -la")
    first = time.perf_counter()
    times = []
    for _ in range(5):
        for command in commands:
            began = time.perf_counter()
            classify(command)
            times.append(time.perf_counter() - began)
    sys.stdout.write(
        f"import {1000 * (imported - started):.0f} ms, first verdict {1000 * (first - imported):.1f} ms, "
        f"{len(times) / sum(times):.0f} commands/s, median {1000 * statistics.median(times):.2f} ms, "
        f"worst {1000 * max(times):.1f} ms, +{(resident() - before) / 1024:.1f} MiB\n"
    )


if __name__ == "__main__":
    main()
