"""What undoes a command that could lock its people out."""

import pytest

from bot.safety import classify
from bot.safety.revert import may_lock_out, undo_of


def undo(command: str) -> str:
    return undo_of(command, classify(command, cwd="/srv"))


@pytest.mark.parametrize(
    ("command", "inverse"),
    [
        ("ufw --force enable", "ufw disable"),
        ("sudo ufw enable", "sudo ufw disable"),
        ("ufw deny 22/tcp", "ufw delete deny 22/tcp"),
        ("sudo ufw delete allow 22", "sudo ufw allow 22"),
        ("iptables -A INPUT -p tcp --dport 22 -j DROP", "iptables -D INPUT -p tcp --dport 22 -j DROP"),
        (
            "sudo iptables -I INPUT 1 -s 10.0.0.0/8 -j REJECT",
            "sudo iptables -D INPUT -s 10.0.0.0/8 -j REJECT",
        ),
        ("iptables -t filter -D INPUT -i lo -j ACCEPT", "iptables -t filter -I INPUT -i lo -j ACCEPT"),
        ("iptables -P INPUT DROP", "iptables -P INPUT ACCEPT"),
        ("systemctl stop ssh", "systemctl start ssh"),
        ("sudo -n systemctl disable --now sshd.service", "sudo -n systemctl enable --now sshd.service"),
        ("service networking stop", "service networking start"),
        ("ip link set eth0 down", "ip link set eth0 up"),
        ("sudo ip link set dev eth0 down", "sudo ip link set dev eth0 up"),
        ("ip addr del 10.0.0.2/24 dev eth0", "ip addr add 10.0.0.2/24 dev eth0"),
        ("ip route del default via 10.0.0.1", "ip route add default via 10.0.0.1"),
        ("ifconfig eth0 down", "ifconfig eth0 up"),
        ("nmcli connection down 'Wired 1'", "nmcli connection up 'Wired 1'"),
        ("nmcli networking off", "nmcli networking on"),
        ("wg-quick down wg0", "wg-quick up wg0"),
        ("tailscale down", "tailscale up"),
        ("firewall-cmd --zone=public --remove-service=ssh", "firewall-cmd --zone=public --add-service=ssh"),
        ("firewall-cmd --panic-on", "firewall-cmd --panic-off"),
    ],
)
def test_a_known_lock_out_has_its_inverse(command: str, inverse: str) -> None:
    assert undo(command) == inverse


@pytest.mark.parametrize(
    "command",
    [
        "ufw allow 22",  # undoing it, had it been there before, would lock out
        "ufw reset",
        "iptables -F",
        "iptables -D INPUT 3",
        "iptables -A INPUT -p tcp --dport 22 -j ACCEPT",
        "systemctl stop nginx",
        "systemctl restart ssh",
        "systemctl stop ssh nginx",
        "systemctl mask ssh",
        "ip link set eth0 down mtu 1400",
        "ip route del default",
        "systemctl stop ssh && ls",
        "systemctl stop ssh; systemctl stop sshd",
        "systemctl stop ssh > log",
        "X=1 systemctl stop ssh",
        "systemctl stop $X",
        "bash -c 'systemctl stop ssh'",
        "rm -rf build",
        "systemctl stop 'ssh",
        "",
    ],
)
def test_nothing_is_undone_by_guess(command: str) -> None:
    assert undo(command) == ""


def test_a_lock_out_among_other_commands_is_still_one() -> None:
    assert may_lock_out(classify("ls && systemctl stop ssh"))
    assert not may_lock_out(classify("ls && systemctl stop nginx"))
