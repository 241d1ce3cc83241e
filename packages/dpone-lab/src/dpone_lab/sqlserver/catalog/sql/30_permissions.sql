-- Who may do what: the documented permission hierarchy, ownership, fixed roles, DENY before GRANT.
create table _lab.builtin_permissions (
    class smallint not null,
    permission text not null,
    covering text,
    parent text,
    primary key (class, permission)
);
comment on table _lab.builtin_permissions is
    'As sys.fn_builtin_permissions: covering is of the same class, parent of the next wider one.';
insert into _lab.builtin_permissions values
    (1, 'SELECT', 'CONTROL', 'SELECT'), (1, 'INSERT', 'CONTROL', 'INSERT'), (1, 'UPDATE', 'CONTROL', 'UPDATE'),
    (1, 'DELETE', 'CONTROL', 'DELETE'), (1, 'EXECUTE', 'CONTROL', 'EXECUTE'),
    (1, 'REFERENCES', 'CONTROL', 'REFERENCES'), (1, 'ALTER', 'CONTROL', 'ALTER'),
    (1, 'VIEW DEFINITION', 'CONTROL', 'VIEW DEFINITION'), (1, 'TAKE OWNERSHIP', 'CONTROL', 'CONTROL'),
    (1, 'VIEW CHANGE TRACKING', 'CONTROL', 'VIEW CHANGE TRACKING'), (1, 'CONTROL', null, 'CONTROL'),
    (3, 'SELECT', 'CONTROL', 'SELECT'), (3, 'INSERT', 'CONTROL', 'INSERT'), (3, 'UPDATE', 'CONTROL', 'UPDATE'),
    (3, 'DELETE', 'CONTROL', 'DELETE'), (3, 'EXECUTE', 'CONTROL', 'EXECUTE'),
    (3, 'REFERENCES', 'CONTROL', 'REFERENCES'), (3, 'ALTER', 'CONTROL', 'ALTER ANY SCHEMA'),
    (3, 'VIEW DEFINITION', 'CONTROL', 'VIEW DEFINITION'), (3, 'TAKE OWNERSHIP', 'CONTROL', 'CONTROL'),
    (3, 'VIEW CHANGE TRACKING', 'CONTROL', 'CONTROL'), (3, 'CREATE SEQUENCE', 'ALTER', 'CONTROL'),
    (3, 'CONTROL', null, 'CONTROL'),
    (0, 'SELECT', 'CONTROL', 'CONTROL SERVER'), (0, 'INSERT', 'CONTROL', 'CONTROL SERVER'),
    (0, 'UPDATE', 'CONTROL', 'CONTROL SERVER'), (0, 'DELETE', 'CONTROL', 'CONTROL SERVER'),
    (0, 'EXECUTE', 'CONTROL', 'CONTROL SERVER'), (0, 'REFERENCES', 'CONTROL', 'CONTROL SERVER'),
    (0, 'VIEW DEFINITION', 'CONTROL', 'VIEW ANY DEFINITION'), (0, 'TAKE OWNERSHIP', 'CONTROL', 'CONTROL SERVER'),
    (0, 'VIEW DATABASE STATE', 'CONTROL', 'VIEW SERVER STATE'),
    (0, 'VIEW CHANGE TRACKING', 'CONTROL', 'CONTROL SERVER'), (0, 'CONNECT', 'CONTROL', 'CONTROL SERVER'),
    (0, 'ALTER', 'CONTROL', 'ALTER ANY DATABASE'), (0, 'ALTER ANY SCHEMA', 'ALTER', 'CONTROL SERVER'),
    (0, 'ALTER ANY USER', 'ALTER', 'CONTROL SERVER'), (0, 'ALTER ANY ROLE', 'ALTER', 'CONTROL SERVER'),
    (0, 'ALTER ANY DATABASE DDL TRIGGER', 'ALTER', 'CONTROL SERVER'),
    (0, 'CREATE TABLE', 'ALTER', 'CONTROL SERVER'), (0, 'CREATE VIEW', 'ALTER', 'CONTROL SERVER'),
    (0, 'CREATE SCHEMA', 'ALTER ANY SCHEMA', 'CONTROL SERVER'),
    (0, 'CREATE PROCEDURE', 'ALTER', 'CONTROL SERVER'), (0, 'CREATE FUNCTION', 'ALTER', 'CONTROL SERVER'),
    (0, 'CREATE ROLE', 'ALTER ANY ROLE', 'CONTROL SERVER'), (0, 'CREATE SYNONYM', 'ALTER', 'CONTROL SERVER'),
    (0, 'CONTROL', null, 'CONTROL SERVER'),
    (100, 'CONTROL SERVER', null, null), (100, 'ALTER SERVER STATE', 'CONTROL SERVER', null),
    (100, 'VIEW SERVER STATE', 'ALTER SERVER STATE', null),
    (100, 'VIEW SERVER PERFORMANCE STATE', 'VIEW SERVER STATE', null),
    (100, 'VIEW SERVER SECURITY STATE', 'VIEW SERVER STATE', null),
    (100, 'VIEW ANY DEFINITION', 'CONTROL SERVER', null), (100, 'VIEW ANY DATABASE', 'CONTROL SERVER', null),
    (100, 'ALTER ANY DATABASE', 'CONTROL SERVER', null), (100, 'ALTER ANY LOGIN', 'CONTROL SERVER', null),
    (100, 'CONNECT SQL', 'CONTROL SERVER', null);

-- The fixed database roles hold these as if they had been granted.
create view _lab.effective_grants as
    select class, major_id, minor_id, grantee_id, permission, state from _lab.permissions
    union all
    select 0, 0, 0, v.grantee, v.permission, v.state::char(1)
    from (values
        (16384, 'CONTROL', 'W'), (16390, 'SELECT', 'G'), (16391, 'INSERT', 'G'), (16391, 'UPDATE', 'G'),
        (16391, 'DELETE', 'G'), (16387, 'ALTER ANY SCHEMA', 'G'), (16387, 'CREATE TABLE', 'G'),
        (16387, 'CREATE VIEW', 'G'), (16387, 'CREATE SCHEMA', 'G'), (16387, 'CREATE PROCEDURE', 'G'),
        (16387, 'CREATE FUNCTION', 'G'), (16387, 'CREATE SYNONYM', 'G'), (16387, 'REFERENCES', 'G'),
        (16387, 'ALTER ANY DATABASE DDL TRIGGER', 'G'), (16386, 'ALTER ANY ROLE', 'G'),
        (16386, 'VIEW DEFINITION', 'G'), (16386, 'CREATE SCHEMA', 'G'), (16385, 'ALTER ANY USER', 'G'),
        (16385, 'CONNECT', 'G'), (16392, 'SELECT', 'D'), (16393, 'INSERT', 'D'), (16393, 'UPDATE', 'D'),
        (16393, 'DELETE', 'D')
    ) v(grantee, permission, state);

create function _lab.is_sysadmin(login integer) returns boolean language sql stable return
    exists (select from _lab.server_role_members where role_principal_id = 3 and member_principal_id = login);

-- The user itself, public, and every role that it is a member of, however deep.
create function _lab.identities(principal integer) returns table (principal_id integer) language sql stable begin atomic
    with recursive member(id) as (
        select $1
        union select 0
        union select r.role_principal_id from _lab.role_members r join member m on m.id = r.member_principal_id
    )
    select id from member;
end;

create function _lab.owner_of(schema_oid oid) returns integer language sql stable return
    coalesce((select principal_id from _lab.schema_owners o where o.schema_oid = $1), 1);

-- The schema of an object of any kind.
create function _lab.schema_of(object_id integer) returns oid language sql stable begin atomic
    select coalesce(
        (select relnamespace from pg_class where oid = $1::oid),
        (select schema_oid from _lab.declared_objects d where d.object_id = $1),
        (select schema_oid from _lab.triggers t where t.object_id = $1));
end;

-- Every (class, id, permission) that implies the one asked for, itself included.
create function _lab.implied_by(class_asked integer, id integer, asked text)
returns table (class smallint, major_id integer, permission text) language sql stable begin atomic
    with recursive place as (
        select $1::smallint as class, $2 as major_id, 0 as distance
        union all
        select (case p.class when 1 then 3 else 0 end)::smallint,
               case when p.class = 1 then _lab.schema_of(p.major_id)::integer else 0 end,
               p.distance + 1
        from place p where p.class in (1, 3)
    ), way(class, permission) as (
        select $1::smallint, upper($3)
        union
        select step.class, step.permission
        from way w
        join _lab.builtin_permissions b on b.class = w.class and b.permission = w.permission
        cross join lateral (values
            (w.class, b.covering),
            ((case w.class when 1 then 3 when 3 then 0 when 0 then 100 end)::smallint, b.parent)
        ) step(class, permission)
        where step.permission is not null and step.class is not null
    )
    select p.class, p.major_id, w.permission from way w join place p on p.class = w.class
    union all
    select w.class, 0, w.permission from way w where w.class = 100;
end;

-- Whether the principal has the permission on the securable (column 0: on all of it).
-- A sysadmin and dbo are not asked; an owner has CONTROL that no DENY takes; else one DENY outweighs grants.
create function _lab.allowed(login integer, principal integer, class_asked integer, id integer, asked text,
                             column_id integer default 0)
returns boolean language plpgsql stable set search_path = pg_catalog as $$
declare
    denied boolean;
    granted boolean;
begin
    if _lab.is_sysadmin(login) then return true; end if;
    if class_asked <> 100 then
        if principal = 1 then return true; end if;
        if class_asked in (1, 3) and exists (
            select from _lab.identities(principal) i
            where i.principal_id = _lab.owner_of(case class_asked when 3 then id::oid else _lab.schema_of(id) end)
        ) then return true; end if;
    end if;
    select coalesce(bool_or(g.state = 'D'), false), coalesce(bool_or(g.state in ('G', 'W')), false)
    into denied, granted
    from _lab.implied_by(class_asked, id, asked) w
    join _lab.effective_grants g
        on g.class = w.class and g.permission = w.permission
        and (g.major_id = w.major_id or g.class in (0, 100))
        and (g.minor_id = 0 or (g.minor_id = column_id and g.class = 1))
    where case when w.class = 100 then g.grantee_id in (login, 2)
          else g.grantee_id in (select i.principal_id from _lab.identities(principal) i) end;
    return granted and not denied;
end $$;

create function _lab.sees_everything() returns boolean language sql stable begin atomic
    select _lab.is_sysadmin(_lab.login_id()) or _lab.user_id() = 1
        or _lab.allowed(_lab.login_id(), _lab.user_id(), 0, 0, 'VIEW DEFINITION');
end;

-- Metadata visibility: an object is listed to its owner and to who has some permission on it.
create function _lab.visible_objects() returns setof integer language sql stable begin atomic
    with me as materialized (select principal_id from _lab.identities(_lab.user_id())),
    held as materialized (
        select g.* from _lab.effective_grants g join me on me.principal_id = g.grantee_id
    ),
    wide as (
        select bool_or(state <> 'D') as holds from held
        where class = 0 and permission in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'EXECUTE', 'REFERENCES',
                                           'ALTER', 'ALTER ANY SCHEMA', 'CONTROL', 'VIEW DEFINITION')
    )
    select c.object_id
    from (
        select oid::integer as object_id, relnamespace as schema_oid from pg_class where relkind in ('r', 'v', 'p')
        union all select d.object_id, d.schema_oid from _lab.declared_objects d
    ) c
    where (select holds from wide)
       or exists (select from held where class = 1 and major_id = c.object_id and state <> 'D')
       or exists (select from held where class = 3 and major_id = c.schema_oid::integer and state <> 'D'
                  and permission <> 'CREATE SEQUENCE')
       or exists (select from me where me.principal_id = _lab.owner_of(c.schema_oid));
end;

create function _lab.sees_definition(object_id integer) returns boolean language sql stable begin atomic
    select _lab.allowed(_lab.login_id(), _lab.user_id(), 1, $1, 'VIEW DEFINITION')
        or _lab.allowed(_lab.login_id(), _lab.user_id(), 1, $1, 'ALTER');
end;
