"""Failed services, from what systemctl prints."""

from bot.telegram.units import read_units


def test_the_first_word_of_each_line_is_a_unit() -> None:
    listed = "nginx.service loaded failed failed A web server\ncert.timer  loaded failed failed\n\n"

    assert read_units(listed) == ["nginx.service", "cert.timer"]


def test_nothing_failed() -> None:
    assert read_units("") == []
