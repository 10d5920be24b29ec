"""Rules as data: the files, their own examples, and what an operator may add."""

import time
from pathlib import Path

import pytest

from bot.safety import Risk, classify, load_rules
from bot.safety.judge import HANDLERS
from bot.safety.rules import Rules, built_in_rules, compile_table, examples, merge, read_rules

FILES = sorted((Path(__file__).parents[2] / "bot" / "safety" / "rules").glob("*.toml"))
EXAMPLES = [
    pytest.param(risk, command, id=f"{path.stem}: {command}")
    for path in FILES
    for table in read_rules(path).get("program", {}).values()
    for risk, command in examples(table)
]


@pytest.mark.parametrize(("risk", "command"), EXAMPLES)
def test_a_rule_keeps_its_own_example(risk: Risk, command: str) -> None:
    verdict = classify(command)

    assert verdict.risk is risk, verdict.reasons


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_table_compiles_and_its_handler_exists(path: Path) -> None:
    for names, table in read_rules(path).get("program", {}).items():
        spec = compile_table(table, names)

        assert not spec.handler or spec.handler in HANDLERS


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("apt-get -s dist-upgrade", Risk.LOW),
        ("apt-get dist-upgrade -s", Risk.LOW),
        ("apt-get dist-upgrade", Risk.HIGH),
        ("kubectl apply -f x.yml --dry-run=client", Risk.LOW),
        ("kubectl apply -f x.yml --dry-run=none", Risk.HIGH),
        ("chage -l deploy", Risk.LOW),
        ("chage -l deploy extra", Risk.HIGH),
        ('chage -l "$X"', Risk.HIGH),
        ("reboot --help", Risk.LOW),
        ("sudo reboot --help", Risk.HIGH),
    ],
)
def test_a_question_to_a_dangerous_program_is_no_danger(command: str, risk: Risk) -> None:
    assert classify(command).risk is risk


def test_no_program_has_two_tables() -> None:
    programs, _ = merge((path.name, read_rules(path)) for path in FILES)

    assert len(programs) > 1000


def test_tables_read_one_by_one_are_those_of_the_whole_files() -> None:
    programs, sections = merge((path.name, read_rules(path)) for path in FILES)

    rules = built_in_rules()

    assert dict(rules.tables) == programs
    assert rules.sections == sections


def test_rules_are_ready_soon_enough_for_the_first_command() -> None:
    built_in_rules.cache_clear()
    started = time.perf_counter()

    classify("ls", rules=built_in_rules())

    assert time.perf_counter() - started < 0.5


def operator(folder: Path, text: str) -> Rules:
    (folder / "site.toml").write_text(text, encoding="utf-8")
    return load_rules(folder)


def test_an_operator_adds_a_program(tmp_path: Path) -> None:
    rules = operator(tmp_path, '[program.mytool]\nlevel = "low"\noptions = "-n:"\n')

    assert classify("mytool -n 3 x", rules=rules).risk is Risk.LOW
    assert classify("mytool --other", rules=rules).risk is Risk.HIGH
    assert classify("mytool -n 3 x").risk is Risk.HIGH


def test_an_operator_raises_a_program(tmp_path: Path) -> None:
    rules = operator(tmp_path, '[program.ls]\nlevel = "high"\nreason = "not here"\noptions = "any"\n')

    verdict = classify("ls", rules=rules)

    assert verdict.risk is Risk.HIGH
    assert verdict.reasons == ("not here: ls",)


def test_an_operator_raises_one_sub_command(tmp_path: Path) -> None:
    rules = operator(
        tmp_path, '[program.docker]\nlevel = "low"\noptions = "any"\n[program.docker.verbs]\nhigh = "logs"\n'
    )

    assert classify("docker logs web", rules=rules).risk is Risk.HIGH
    assert classify("docker ps", rules=rules).risk is Risk.LOW
    assert classify("docker rm web", rules=rules).risk is Risk.HIGH


def test_an_operator_lowers_nothing_by_accident(tmp_path: Path) -> None:
    rules = operator(tmp_path, '[program.reboot]\nlevel = "low"\noptions = "any"\n')

    assert classify("reboot", rules=rules).risk is Risk.HIGH
    assert rules.lowered == ()


def test_an_operator_lowers_with_override_and_it_shows(tmp_path: Path) -> None:
    rules = operator(tmp_path, '[program.reboot]\nlevel = "low"\noptions = "any"\noverride = true\n')

    assert classify("reboot", rules=rules).risk is Risk.LOW
    assert rules.lowered == ("reboot (site.toml)",)


def test_an_operator_adds_paths_that_hold_keys(tmp_path: Path) -> None:
    rules = operator(tmp_path, '[paths]\ncredential = "/srv/vault/**"\n')

    assert classify("cat /srv/vault/x", rules=rules).risk is Risk.HIGH
    assert classify("cat /srv/other/x", rules=rules).risk is Risk.LOW
    assert classify("cat /etc/shadow", rules=rules).risk is Risk.HIGH


@pytest.mark.parametrize(
    "text",
    [
        "[program.x\n",
        '[program.x]\nlevel = "none"\n',
        '[program.x]\nlevell = "low"\n',
        '[other]\nx = "y"\n',
        '[program.x]\nlevel = "low"\noperands = "anything"\n',
        "program = 3\n",
    ],
)
def test_a_broken_operator_file_makes_everything_high_and_says_why(tmp_path: Path, text: str) -> None:
    rules = operator(tmp_path, text)

    verdict = classify("ls", rules=rules)

    assert verdict.risk is Risk.HIGH
    assert "site.toml" in rules.problem
    assert "site.toml" in verdict.reasons[0]


def test_a_folder_that_does_not_exist_adds_nothing(tmp_path: Path) -> None:
    rules = load_rules(tmp_path / "none")

    assert rules.problem == ""
    assert classify("ls", rules=rules).risk is Risk.LOW


def test_the_bots_own_files_are_high_to_read_and_to_write(tmp_path: Path) -> None:
    """Requirement A10."""
    rules = load_rules(None, own_paths=[str(tmp_path / "state")])

    read = classify(f"cat {tmp_path}/state/kai.db", rules=rules)
    written = classify("echo x > state/kai.db", cwd=str(tmp_path), rules=rules)
    around = classify(f"cat {tmp_path}/x/../state//kai.db", rules=rules)

    assert (read.risk, written.risk, around.risk) == (Risk.HIGH, Risk.HIGH, Risk.HIGH)
    assert "own files" in read.reasons[0]


def test_the_bots_own_service_is_high_to_touch() -> None:
    """Requirement A10."""
    rules = load_rules(None, own_services=["helper"])

    assert classify("systemctl restart helper.service", rules=rules).risk is Risk.HIGH
    assert classify("systemctl restart kai-bot", rules=rules).risk is Risk.HIGH
    assert classify("systemctl restart nginx", rules=rules).risk is Risk.MEDIUM
    assert classify("systemctl status helper", rules=rules).risk is Risk.LOW
