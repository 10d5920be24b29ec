"""Run every benchmark, or those named: `python -m bench [turns] [protocol] [risk]`."""

import importlib
import sys

BENCHMARKS = {
    "turns": "what a turn costs, beside a bare httpx loop",
    "protocol": "the parser, beside json.loads",
    "risk": "the classifier",
    "llm": "an adapter's share of a request, beside the official SDKs",
}


def main() -> int:
    names = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"── {name}: {BENCHMARKS[name]}")
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
