"""Commands for which a press is not enough."""

import pytest

from bot.messages import Risk
from bot.safety import Verdict, classify
from bot.safety.worst import classes, second_step


def step(command: str) -> str:
    return second_step(command, classify(command, cwd="/srv"))


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("reboot", "restarts the machine"),
        ("sudo /sbin/shutdown -r now", "restarts the machine"),
        ("systemctl reboot", "restarts the machine"),
        ("ls && sudo poweroff", "restarts the machine"),
        ("sudo bash -c 'reboot'", "restarts the machine"),
        ("nohup env X=1 reboot &", "restarts the machine"),
        ("ufw --force enable", "firewall"),
        ("sudo iptables -F", "firewall"),
        ("nft flush ruleset", "firewall"),
        ("systemctl stop ufw", "firewall"),
        ("useradd eve", "users, rights or keys"),
        ("sudo usermod -aG sudo eve", "users, rights or keys"),
        ("passwd root", "users, rights or keys"),
        ("echo k >> ~/.ssh/authorized_keys", "users, rights or keys"),
        ("cp mine /etc/sudoers.d/mine", "users, rights or keys"),
        ("mkfs.ext4 /dev/sdb1", "formats or repartitions"),
        ("dd if=image of=/dev/sda bs=4M", "formats or repartitions"),
        ("cat image > /dev/sda", "formats or repartitions"),
        ("wipefs -a /dev/sdb", "formats or repartitions"),
        ("systemctl stop kai-bot", "the bot's own service"),
        ("sudo systemctl disable --now kai-bot.service", "the bot's own service"),
        ("cast send 0xabc --value 1ether", "moves money"),
        ("$RUN reboot", "restarts the machine"),
        ('eval "/sbin/reboot $X"', "restarts the machine"),
    ],
)
def test_the_worst_needs_a_second_step(command: str, why: str) -> None:
    assert why in step(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "sudo systemctl restart kai-bot",
        "sudo systemctl stop nginx",
        "sudo ufw status && rm -rf build",
        "sudo iptables -L -n; rm -rf build",
        "sudo passwd -S bob",
        "sudo fdisk -l",
        "dd if=/dev/sda of=/dev/null",
        "cat /etc/passwd; rm -rf build",
        "sudo cat /etc/ssh/sshd_config",
        "rm -rf ./reboot-notes $X",
        "grep reboot /var/log/syslog",
        "sudo journalctl --list-boots",
    ],
)
def test_a_press_is_enough_for_the_rest(command: str) -> None:
    assert step(command) == ""


def test_what_runs_unasked_has_no_second_step() -> None:
    assert second_step("ufw status", classify("ufw status")) == ""
    assert second_step("reboot", Verdict(Risk.MEDIUM)) == ""


def test_every_class_says_why_and_names_commands() -> None:
    assert len(classes()) >= 5
    assert all(worst.reason and worst.commands for worst in classes())
