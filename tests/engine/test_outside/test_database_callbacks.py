"""Code in Python that a database calls in the middle of an operation, or that decides what a new cursor gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpor.results import AssumptionKind, ModelResult, Verdict

Check = Callable[..., Any]

BEGIN = "; ".join(
    (
        "global connection, number, rows",
        "connection = sqlite3.connect(':memory:', check_same_thread=False)",
        "connection.execute('create table t(n)')",
        "connection.execute('insert into t values (1)')",
        "number, rows = [0], [7]",
    )
)
ALL = "tuple(connection.execute('select n from t'))"
UPDATE = "number[0] = 10\nconnection.execute('update t set n = 5')"


def assumes_unseen_code(result: ModelResult) -> bool:
    return AssumptionKind.UNSEEN_CODE in {one.kind for one in result.assumptions if one.subject == "sqlite3"}


@pytest.mark.parametrize(
    ("given", "statement"),
    [
        ("connection.create_function('f', 0, lambda: number[0])", "select f(), n from t"),
        ("connection.create_collation('c', lambda a, b: number[0])", "select n from t order by n collate c"),
        ("connection.row_factory = lambda cursor, row: (number[0], *row)", "select n from t"),
    ],
)
def test_what_a_database_calls_beside_other_threads_is_an_assumption(
    check: Check, given: str, statement: str
) -> None:
    read = f"tuple(tuple(row) for row in connection.execute({statement!r}))"
    _, result = check(read, UPDATE, "None", begin=f"{BEGIN}; {given}")
    assert assumes_unseen_code(result)
    _, result = check("None", "None", read, begin=f"{BEGIN}; {given}")
    assert not assumes_unseen_code(result)


@pytest.mark.parametrize("parameters", ["(1,)", "[b'a']", "{'a': 1.5}", "(datetime.date(2026, 1, 2),)"])
def test_plain_parameters_and_sqlite3_row_are_none(check: Check, parameters: str) -> None:
    statement = "select :a, n from t" if "{" in parameters else "select ?, n from t"
    read = f"tuple(tuple(row) for row in connection.execute({statement!r}, {parameters}))"
    begin = f"{BEGIN}; connection.row_factory = sqlite3.Row"
    _, result = check(read, UPDATE, "None", before="import datetime", begin=begin)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert not assumes_unseen_code(result)


def test_rows_of_a_generator_are_taken_one_after_the_other(check: Check) -> None:
    insert = "connection.executemany('insert into t values (?)', ((row,) for row in rows))"
    found, result = check(
        insert, "rows.append(8)\nconnection.execute('insert into t values (9)')", ALL, begin=BEGIN
    )
    last = {tuple(number for (number,) in table) for _, table in found}
    assert last == {(1, 7, 8, 9), (1, 7, 9, 8), (1, 7, 9), (1, 9, 7, 8)}
    assert not assumes_unseen_code(result)


def test_executemany_refuses_what_sqlite3_refuses(check: Check) -> None:
    found, _ = check(
        "attempt(lambda: connection.executemany()), attempt(lambda: connection.executemany('x', 1))",
        "None",
        "None",
        begin=BEGIN,
    )
    assert {first for (first, _), _ in found} == {("TypeError", "TypeError")}


def test_a_new_cursor_has_the_factory_of_its_connection_at_that_moment(check: Check) -> None:
    read = "type(connection.execute('select 1').fetchone()).__name__"
    found, _ = check(read, "setattr(connection, 'row_factory', sqlite3.Row)", "None", begin=BEGIN)
    assert {first for (first, _), _ in found} == {"tuple", "Row"}
