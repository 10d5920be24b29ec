"""Paths mean the same however they are written."""

import pytest

from bot.safety import Risk, classify
from bot.safety.paths import canonical, compile_globs


@pytest.mark.parametrize(
    ("path", "folders", "found"),
    [
        ("/etc//x/../shadow", ["."], ["/etc/shadow"]),
        ("a/./b", ["."], ["./a/b"]),
        ("../x", ["."], ["../x"]),
        ("../x", ["/srv/app"], ["/srv/x"]),
        ("x", [".", "/etc"], ["./x", "/etc/x"]),
        ("~/x/../y", ["."], ["~/y"]),
        ("/proc/self/root/etc/shadow", ["."], ["/etc/shadow"]),
        ("/proc/1/cwd/x", ["."], ["/x"]),
        ("//x", ["."], ["/x"]),
    ],
)
def test_a_path_is_settled(path: str, folders: list[str], found: list[str]) -> None:
    assert canonical(path, folders) == found


def test_globs_know_one_folder_from_many() -> None:
    pattern = compile_globs(["/a/*", "/b/**", "**/.env", "~/.x"])

    assert pattern.match("/a/x")
    assert not pattern.match("/a/x/y")
    assert pattern.match("/b/x/y")
    assert pattern.match("./.env")
    assert pattern.match("/root/.x")
    assert pattern.match("/home/u/.x")
    assert pattern.match("~/.x")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow", "/etc/./shadow", "/etc/../etc/shadow", "/proc/self/root/etc/shadow", "'/etc/sha'dow",
        "/etc/sh?dow", "/etc/[s]hadow", "/etc/{shadow,passwd}", "~/.ssh/id_rsa", "$HOME/.ssh/id_rsa",
        "~/.s*/id*",
        "~root/.ssh/id_rsa", ".env", "./.env", "app/.env.production", ".e?v", ".e*", "*.pem", "server.key",
        "/proc/self/environ", "/proc/*/environ", "/run/secrets/db", "wallet.dat", "~/.bash_history",
        '"$D/.env"', "$X",
    ],
)  # fmt: skip
def test_a_credential_is_known_however_it_is_written(path: str) -> None:
    assert classify(f"cat {path}").risk is Risk.HIGH
    assert classify(f"cp {path} /tmp/x").risk is Risk.HIGH
    assert classify(f"sort < {path}").risk is Risk.HIGH


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "*.log",
        "src/*.py",
        ".env.example",
        "~/.ssh/id_rsa.pub",
        "~/.ssh/known_hosts",
        "/etc/hosts",
        "k.pub",
    ],
)
def test_an_ordinary_file_may_be_read(path: str) -> None:
    assert classify(f"cat {path}").risk is Risk.LOW


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hosts", "/usr/bin/x", "~/.bashrc", "$HOME/.profile", "/root/x", ".git/hooks/pre-commit",
        "/dev/sda",
        "/proc/sysrq-trigger", "/var/log/x", "/var/lib/x", "~/.ssh/authorized_keys", "$X", '"$D/x"',
        "$(cat f)",
        "/tmp/../etc/x", "../../../etc/x", "/x",
    ],
)  # fmt: skip
def test_a_protected_path_is_high_to_write(path: str) -> None:
    assert classify(f"echo x > {path}").risk is Risk.HIGH
    assert classify(f"echo x | tee {path}").risk is Risk.HIGH
    assert classify(f"touch {path}").risk is Risk.HIGH


@pytest.mark.parametrize("path", ["notes.md", "/tmp/x", "build/out.txt", "/srv/app/x", "~/notes.txt"])
def test_a_file_of_the_project_is_medium_to_write(path: str) -> None:
    assert classify(f"echo x > {path}").risk is Risk.MEDIUM


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stderr", "/dev/tty"])
def test_nothing_is_written_to_the_harmless_devices(path: str) -> None:
    assert classify(f"echo x > {path}").risk is Risk.LOW


@pytest.mark.parametrize(
    "command", ["> app.log", ": > app.log", "cat /dev/null > app.log", "cp /dev/null app.log"]
)
def test_emptying_a_file_is_high(command: str) -> None:
    assert classify(command).risk is Risk.HIGH
