"""The last lines of the log, without secrets."""

import logging

from bot.telegram.recent_log import KEPT, LONGEST, RecentLog


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("bot.x", logging.INFO, __file__, 1, message, args, None)


def test_the_last_lines_come_oldest_first() -> None:
    log = RecentLog(lambda text: text)
    for number in range(KEPT + 10):
        log.emit(record("line %d", number))

    assert [line.rpartition(" ")[2] for line in log.lines(2)] == [str(KEPT + 8), str(KEPT + 9)]
    assert len(log.lines(10_000)) == KEPT


def test_secrets_are_taken_out_before_a_line_is_cut() -> None:
    log = RecentLog(lambda text: text.replace("hunter2", "[redacted]"))

    log.emit(record("x" * (LONGEST - 34) + "hunter2 and more"))

    assert "hunter" not in log.lines(1)[0]
    assert len(log.lines(1)[0]) <= LONGEST


def test_a_record_that_cant_be_written_does_not_raise() -> None:
    log = RecentLog(lambda text: text)

    log.emit(record("%d", "no number"))

    assert log.lines(1) == ["a record of bot.x could not be written"]
