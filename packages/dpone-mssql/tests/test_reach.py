"""Who reaches a permission, by SQL Server's documented rules, over catalogs written down by hand."""

from __future__ import annotations

import pytest

from dpone_mssql.measurer import default_clock
from dpone_mssql.reach import (
    COMMANDS,
    DATABASE,
    DATABASE_PRINCIPAL,
    OBJECT,
    PLAIN_WRITES,
    SCHEMA,
    Directory,
    Permission,
    Principal,
    Securable,
    denied,
    fixed_roles,
    granted,
    joined,
    measured,
    reached,
)

TABLE, MART = (OBJECT, 100), (SCHEMA, 7)
ANN, BOB, CLERKS, CHIEFS, WRITERS = 10, 11, 20, 21, 16391
PLACES = [
    Securable(*TABLE, "table mart.t", PLAIN_WRITES | COMMANDS),
    Securable(*MART, "schema mart", PLAIN_WRITES | COMMANDS),
    Securable(DATABASE, 0, "database lab", PLAIN_WRITES | COMMANDS),
]


def database(
    *permissions: tuple[tuple[int, int], int, str, str],
    members: tuple[tuple[int, int], ...] = (),
    column: int = 0,
    role_owner: int = 1,
) -> Directory:
    people = [Principal(0, "public", "DATABASE_ROLE", is_role=True, owner_id=1, sid=None)]
    people += [
        Principal(number, name, "SQL_USER", is_role=False, owner_id=None, sid=name.encode())
        for number, name in ((1, "dbo"), (ANN, "ann"), (BOB, "bob"))
    ]
    people += [
        Principal(number, name, "DATABASE_ROLE", is_role=True, owner_id=role_owner, sid=None)
        for number, name in ((CLERKS, "clerks"), (CHIEFS, "chiefs"), (WRITERS, "db_datawriter"))
    ]
    rows = tuple(
        Permission(*place, column if place[0] == OBJECT else 0, grantee, name, state)
        for place, grantee, name, state in permissions
    )
    return Directory("database", {one.principal_id: one for one in people}, frozenset(members), rows)


def who(directory: Directory) -> dict[str, tuple[str, ...]]:
    direct = joined(granted(directory, PLACES), fixed_roles(directory, (), ("db_datawriter",)))
    taken = denied(directory, [TABLE, MART, (DATABASE, 0)])
    return {one.principal: one.ways for one in measured(directory, reached(directory, direct, taken))}


def test_a_grant_is_a_way_and_a_grant_of_something_else_is_none() -> None:
    assert who(database((TABLE, ANN, "UPDATE", "G"), (TABLE, BOB, "SELECT", "G"))) == {
        "ann": ("UPDATE on table mart.t",)
    }


def test_a_grant_with_grant_option_is_a_way() -> None:
    assert who(database((TABLE, ANN, "DELETE", "W"))) == {"ann": ("DELETE on table mart.t",)}


def test_a_permission_elsewhere_is_none() -> None:
    assert who(database(((OBJECT, 101), ANN, "UPDATE", "G"), ((SCHEMA, 8), BOB, "CONTROL", "G"))) == {}


def test_a_role_hands_its_ways_down_to_members_of_members() -> None:
    found = who(database((MART, CHIEFS, "INSERT", "G"), members=((CHIEFS, CLERKS), (CLERKS, ANN))))
    assert found == {"ann": ("INSERT on schema mart through role chiefs",)}


def test_a_role_without_members_is_nobody() -> None:
    assert who(database((MART, CHIEFS, "INSERT", "G"))) == {}


def test_what_public_holds_everybody_holds() -> None:
    assert who(database((TABLE, 0, "INSERT", "G"))) == {"public": ("INSERT on table mart.t",)}


@pytest.mark.parametrize("place", [TABLE, MART, (DATABASE, 0)])
def test_a_deny_of_a_row_permission_takes_it_from_any_level(place: tuple[int, int]) -> None:
    assert who(database((MART, ANN, "INSERT", "G"), (place, ANN, "INSERT", "D"))) == {}


def test_a_deny_to_a_role_or_to_public_takes_it_from_members() -> None:
    granted_to_ann = (MART, ANN, "INSERT", "G")
    assert who(database(granted_to_ann, (TABLE, CLERKS, "INSERT", "D"), members=((CLERKS, ANN),))) == {}
    assert who(database(granted_to_ann, (TABLE, 0, "INSERT", "D"))) == {}


def test_a_deny_of_another_permission_takes_nothing() -> None:
    assert "ann" in who(database((MART, ANN, "INSERT", "G"), (TABLE, ANN, "UPDATE", "D")))


def test_a_deny_of_control_takes_row_permissions() -> None:
    assert who(database((MART, ANN, "INSERT", "G"), (TABLE, ANN, "CONTROL", "D"))) == {}


def test_no_deny_takes_what_can_change_permissions_or_objects() -> None:
    for name in sorted(COMMANDS):
        assert "ann" in who(database((MART, ANN, name, "G"), (TABLE, ANN, "INSERT", "D")))


def test_a_column_grant_outweighs_a_deny_on_the_table() -> None:
    directory = database((TABLE, ANN, "UPDATE", "G"), column=2)
    denied_too = database((TABLE, ANN, "UPDATE", "D"))
    both = Directory(
        "database", directory.principals, frozenset(), (*directory.permissions, *denied_too.permissions)
    )
    assert who(both) == {"ann": ("UPDATE (columns) on table mart.t",)}


def test_a_member_of_a_writing_fixed_role_writes_unless_denied() -> None:
    assert who(database(members=((WRITERS, ANN),))) == {"ann": ("fixed role db_datawriter",)}
    taken = [(TABLE, ANN, name, "D") for name in sorted(PLAIN_WRITES)]
    assert who(database(*taken, members=((WRITERS, ANN),))) == {}


@pytest.mark.parametrize("name", ["IMPERSONATE", "CONTROL"])
def test_who_can_become_a_writer_is_one(name: str) -> None:
    found = who(database((TABLE, ANN, "UPDATE", "G"), ((DATABASE_PRINCIPAL, ANN), BOB, name, "G")))
    assert found["bob"] == (f"{name} on principal ann",)


def test_who_decides_over_the_members_of_a_writing_role_is_a_writer() -> None:
    found = who(database((MART, CLERKS, "INSERT", "G"), ((DATABASE_PRINCIPAL, CLERKS), BOB, "ALTER", "G")))
    assert found == {"bob": ("ALTER on principal clerks",)}
    owned = who(database((MART, CLERKS, "INSERT", "G"), role_owner=ANN))
    assert owned == {"ann": ("owner of role clerks", "owner of role db_datawriter")}


def test_becoming_somebody_who_writes_nothing_is_no_way() -> None:
    assert who(database(((DATABASE_PRINCIPAL, ANN), BOB, "IMPERSONATE", "G"))) == {}


@pytest.mark.parametrize(
    ("definition", "clock"),
    [
        ("('1900-01-01T00:00:00')", "CONSTANT"),
        ("((0))", "CONSTANT"),
        ("(NULL)", "CONSTANT"),
        ("(sysutcdatetime())", "UTC"),
        ("(getutcdate())", "UTC"),
        ("(getdate())", "OTHER"),
        ("(sysdatetime())", "OTHER"),
        ("(sysdatetimeoffset())", "OTHER"),
        ("(getutcdate()+getdate())", "OTHER"),
        ("(CONVERT([datetime2](6),getdate()))", "OTHER"),
        ("([dbo].[local_now]())", "OTHER"),
    ],
)
def test_a_default_is_a_constant_a_utc_clock_or_anything_else(definition: str, clock: str) -> None:
    assert default_clock(definition) == clock
