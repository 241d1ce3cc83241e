-- Functions over the catalog. A name that one may not see is NULL, as if it did not exist.
create function _lab.name_parts(name text) returns text[] language sql immutable begin atomic
    select array_agg(coalesce(replace(m[1], ']]', ']'), replace(m[2], '""', '"'), m[3], '') order by place)
    from regexp_matches($1, '\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\[\]"]+)|(?<=\.)(?=\.)', 'g')
        with ordinality r(m, place);
end;

create function _lab.default_schema() returns text language sql stable return
    coalesce((select default_schema from _lab.users where principal_id = _lab.user_id()), 'dbo');

create function _lab.sees(object_id integer) returns boolean language sql stable return
    _lab.sees_everything() or $1 in (select _lab.visible_objects());

-- An object by schema and name, case-insensitively; the exact spelling wins. Not filtered by visibility.
create function _lab.find_object(schema_name text, name text, type text) returns integer language sql stable begin atomic
    select found.object_id from (
        select o.object_id, o.name, o.type from _lab.objects o
        where lower(o.name) = lower($2) and lower(o.schema_name) = lower($1)
        union all
        select c.oid::integer, c.relname, 'V' from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where lower(c.relname) = lower($2) and lower(n.nspname) = lower($1)
          and n.nspname in ('sys', 'INFORMATION_SCHEMA') and c.relkind = 'v'
    ) found
    where $3 is null or rtrim(found.type) = rtrim(upper($3))
    order by found.name = $2 desc limit 1;
end;

-- The object that a name of up to three parts means, visible or not.
create function _lab.resolve(name text, type text) returns integer language plpgsql stable set search_path = pg_catalog as $$
declare
    parts constant text[] := _lab.name_parts(name);
    last constant integer := cardinality(parts);
begin
    if last is null or last > 3 then return null; end if;
    if parts[last] like '#%' then
        return (select r.object_id from _lab.relations r
                where r.is_temp and lower(r.name) = lower(parts[last])
                  and last = 3 and lower(parts[1]) = 'tempdb' and coalesce(rtrim(upper($2)), 'U') = 'U');
    end if;
    if last = 3 and lower(parts[1]) <> (select lower(f.name) from _lab.database_facts f) then return null; end if;
    if last > 1 and parts[last - 1] <> '' then return _lab.find_object(parts[last - 1], parts[last], $2); end if;
    return coalesce(_lab.find_object(_lab.default_schema(), parts[last], $2),
                    _lab.find_object('dbo', parts[last], $2));
end $$;

create function sys.object_id(name text, type text default null) returns integer language sql stable cost 10000 begin atomic
    with found as materialized (select _lab.resolve($1, $2) as id)
    select found.id from found
    where _lab.sees_everything()
       or exists (select from _lab.objects o where o.object_id = found.id
                  and o.visible_through in (select _lab.visible_objects()))
       or exists (select from _lab.relations r where r.object_id = found.id and r.is_temp)
       or exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where c.oid = found.id::oid and n.nspname in ('sys', 'INFORMATION_SCHEMA'));
end;

create function sys.object_name(object_id integer, database_id integer default 5) returns sys."nvarchar(128)"
language sql stable begin atomic
    select coalesce(
        (select o.name from _lab.objects o where o.object_id = $1 and _lab.sees(o.visible_through) limit 1),
        (select r.name from _lab.relations r where r.object_id = $1 and r.is_temp and $2 = 2))
    where $2 in (2, 5);
end;
create function sys.object_schema_name(object_id integer, database_id integer default 5) returns sys."nvarchar(128)"
language sql stable begin atomic
    select o.schema_name from _lab.objects o where o.object_id = $1 and $2 = 5 and _lab.sees(o.visible_through) limit 1;
end;
create function sys.schema_id(name text) returns integer language sql stable return
    (select s.schema_id from sys.schemas s where lower(s.name) = lower($1) limit 1);
create function sys.schema_id() returns integer language sql stable return sys.schema_id(_lab.default_schema());
create function sys.schema_name(schema_id integer) returns sys."nvarchar(128)" language sql stable return
    (select s.name from sys.schemas s where s.schema_id = $1);
create function sys.schema_name() returns sys."nvarchar(128)" language sql stable return _lab.default_schema();

create function sys.db_id(name text) returns smallint language sql stable return
    (select d.database_id::smallint from sys.databases d where lower(d.name) = lower($1));
create function sys.db_id() returns smallint language sql stable return 5::smallint;
create function sys.db_name(database_id integer) returns sys."nvarchar(128)" language sql stable return
    (select d.name from sys.databases d where d.database_id = $1);
create function sys.db_name() returns sys."nvarchar(128)" language sql stable return
    (select f.name from _lab.database_facts f);

create function sys.type_id(name text) returns integer language sql stable return
    (select t.user_type_id from _lab.base_types t where t.name = lower($1));
create function sys.type_name(type_id integer) returns sys."nvarchar(128)" language sql stable return
    (select t.name from _lab.base_types t where t.user_type_id = $1);

create function sys.col_name(object_id integer, column_id integer) returns sys."nvarchar(128)" language sql stable return
    (select a.attname from pg_attribute a join _lab.relations r on r.relation_oid = a.attrelid
     where r.object_id = $1 and a.attnum = $2 and not a.attisdropped and (r.is_temp or _lab.sees($1)));
create function sys.columnproperty(object_id integer, name text, property text) returns integer
language sql stable begin atomic
    select case lower($3)
        when 'allowsnull' then c.is_nullable::integer when 'columnid' then c.column_id
        when 'ordinal' then c.column_id when 'iscomputed' then c.is_computed::integer
        when 'isidentity' then c.is_identity::integer when 'precision' then
            case when c.collation_name is null then c.precision else nullif(c.max_length, -1) end::integer
        when 'scale' then c.scale::integer when 'issparse' then 0 when 'ishidden' then 0 when 'iscolumnset' then 0
        when 'isrowguidcol' then 0 when 'generatedalwaystype' then 0
    end
    from _lab.columns c where c.object_id = $1 and lower(c.name) = lower($2) and (c.is_temp or _lab.sees($1));
end;
create function sys.objectproperty(object_id integer, property text) returns integer language sql stable begin atomic
    select case lower($2)
        when 'istable' then (o.type = 'U')::integer when 'isusertable' then (o.type = 'U')::integer
        when 'isview' then (o.type = 'V')::integer when 'isprocedure' then (o.type = 'P ')::integer
        when 'istrigger' then (o.type = 'TR')::integer when 'isprimarykey' then (o.type = 'PK')::integer
        when 'ismsshipped' then 0 when 'isencrypted' then 0 when 'ownerid' then _lab.owner_of(o.schema_oid)
        when 'schemaid' then _lab.public_schema_id(o.schema_name, o.schema_oid)
        when 'tablehasidentity' then exists (select from _lab.columns c where c.object_id = $1 and c.is_identity)::integer
        when 'tablehasprimarykey' then exists (select from _lab.indexes i where i.object_id = $1 and i.is_primary_key)::integer
        when 'tablehasclustindex' then exists (select from _lab.indexes i where i.object_id = $1 and i.index_id = 1)::integer
        when 'tablehasforeignkey' then exists (
            select from _lab.constraints k where k.parent_object_id = $1 and k.type = 'F ')::integer
        when 'isschemabound' then coalesce((select m.is_schema_bound::integer from _lab.modules m where m.object_id = $1), 0)
        when 'execistriggerdisabled' then (select t.is_disabled::integer from _lab.triggers t where t.object_id = $1)
    end
    from _lab.objects o where o.object_id = $1 and _lab.sees(o.visible_through) limit 1;
end;
create function sys.indexproperty(object_id integer, name text, property text) returns integer
language sql stable begin atomic
    select case lower($3)
        when 'indexid' then i.index_id when 'isunique' then i.is_unique::integer
        when 'isclustered' then (i.index_id = 1)::integer when 'isdisabled' then 0
    end
    from _lab.indexes i where i.object_id = $1 and lower(i.name) = lower($2) and (i.is_temp or _lab.sees($1));
end;
create function sys.object_definition(object_id integer) returns sys."nvarchar(max)" language sql stable return
    (select m.definition from sys.sql_modules m where m.object_id = $1);

create function sys.user_id(name text) returns integer language sql stable return
    (select p.principal_id from sys.database_principals p where lower(p.name) = lower($1));
create function sys.user_id() returns integer language sql stable return _lab.user_id();
create function sys.user_name(principal_id integer) returns sys."nvarchar(128)" language sql stable return
    (select p.name from sys.database_principals p where p.principal_id = $1);
create function sys.user_name() returns sys."nvarchar(128)" language sql stable return sys.user_name(_lab.user_id());
create function sys.suser_id(name text) returns integer language sql stable return
    (select p.principal_id from sys.server_principals p where lower(p.name) = lower($1));
create function sys.suser_id() returns integer language sql stable return _lab.login_id();
create function sys.suser_sname(sid bytea) returns sys."nvarchar(128)" language sql stable return
    (select p.name from sys.server_principals p where p.sid = $1);
create function sys.suser_sname() returns sys."nvarchar(128)" language sql stable return
    (select l.name from _lab.logins l where l.principal_id = _lab.login_id());

create function sys.is_rolemember(role_name text, member text default null) returns integer language plpgsql stable set search_path = pg_catalog as $$
declare
    wanted integer := (select principal_id from _lab.users where lower(name) = lower(role_name) and type = 'R');
    who integer := case when member is null then _lab.user_id()
                   else (select principal_id from _lab.users where lower(name) = lower(member)) end;
begin
    if wanted is null or who is null then return null; end if;
    if wanted = 16384 and (who = 1 or (member is null and _lab.is_sysadmin(_lab.login_id()))) then return 1; end if;
    return (exists (select from _lab.identities(who) i where i.principal_id = wanted and wanted <> who))::integer;
end $$;
create function sys.is_member(role_name text) returns integer language sql stable return sys.is_rolemember($1);
create function sys.is_srvrolemember(role_name text, login text default null) returns integer language plpgsql stable set search_path = pg_catalog as $$
declare
    wanted integer := (select principal_id from _lab.logins where lower(name) = lower(role_name) and is_role);
    who integer := case when login is null then _lab.login_id()
                   else (select principal_id from _lab.logins where lower(name) = lower(login) and not is_role) end;
begin
    if wanted is null or who is null then return null; end if;
    return (wanted = 2 or _lab.is_sysadmin(who) or exists (
        select from _lab.server_role_members m
        where m.role_principal_id = wanted and m.member_principal_id = who))::integer;
end $$;

-- The class and id that HAS_PERMS_BY_NAME names; no row when there is none.
create function _lab.securable(securable text, class_name text)
returns table (class integer, id integer) language sql stable begin atomic
    select 100, 0 where $2 is null or upper($2) = 'SERVER'
    union all
    select 0, 0 from _lab.database_facts f
    where upper($2) = 'DATABASE' and ($1 is null or lower((_lab.name_parts($1))[1]) = lower(f.name))
    union all
    select 3, n.oid::integer from pg_namespace n
    where upper($2) = 'SCHEMA' and lower(n.nspname) = lower((_lab.name_parts($1))[1]) and _lab.is_user_schema(n.nspname)
    union all
    select 1, found.id from (select _lab.resolve($1, null) as id where upper($2) = 'OBJECT') found
    where found.id is not null;
end;

create function sys.has_perms_by_name(securable text, class_name text, permission text,
                                      sub_securable text default null, sub_class text default null)
returns integer language plpgsql stable set search_path = pg_catalog as $$
declare
    place record;
    asked constant text := upper(permission);
    column_id integer := 0;
begin
    select * into place from _lab.securable($1, class_name);
    if not found then return null; end if;
    if sub_securable is not null and upper(sub_class) = 'COLUMN' then
        select a.attnum into column_id from pg_attribute a
        where a.attrelid = place.id::oid and lower(a.attname) = lower(sub_securable) and a.attnum > 0;
        if column_id is null then return null; end if;
    end if;
    if asked = 'ANY' then
        return (exists (select from _lab.builtin_permissions b where b.class = place.class
            and _lab.allowed(_lab.login_id(), _lab.user_id(), place.class, place.id, b.permission)))::integer;
    end if;
    if not exists (select from _lab.builtin_permissions b where b.class = place.class and b.permission = asked) then
        return null;
    end if;
    return _lab.allowed(_lab.login_id(), _lab.user_id(), place.class, place.id, asked, column_id)::integer;
end $$;

create function sys.serverproperty(property text) returns sys."nvarchar(128)" language sql stable return
    case lower($1)
        when 'productversion' then '16.0.1000.6' when 'productmajorversion' then '16' when 'productlevel' then 'RTM'
        when 'edition' then 'Developer Edition (64-bit)' when 'engineedition' then '3'
        when 'servername' then 'DPONE-LAB' when 'machinename' then 'DPONE-LAB' when 'instancename' then null
        when 'collation' then _lab.collation() when 'ishadrenabled' then '0' when 'isclustered' then '0'
        when 'isintegratedsecurityonly' then '0'
    end;
create function sys.databasepropertyex(database text, property text) returns sys."nvarchar(128)" language sql stable begin atomic
    select case lower($2)
        when 'status' then 'ONLINE' when 'updateability' then 'READ_WRITE' when 'recovery' then 'FULL'
        when 'collation' then d.collation_name when 'useraccess' then 'MULTI_USER'
        when 'issnapshotisolationenabled' then '0' when 'isinstandby' then '0'
    end
    from sys.databases d where lower(d.name) = lower($1);
end;

create function sys.suser_name(principal_id integer) returns sys."nvarchar(128)" language sql stable return
    (select p.name from sys.server_principals p where p.principal_id = $1);
create function sys.col_length(table_name text, column_name text) returns smallint language sql stable return
    (select c.max_length from _lab.columns c
     where c.object_id = sys.object_id($1) and lower(c.name) = lower($2));
create function sys.objectpropertyex(object_id integer, property text) returns text language sql stable return
    case lower($2) when 'basetype' then (select rpad(o.type, 2) from _lab.objects o where o.object_id = $1 limit 1)
        when 'cardinality' then _lab.row_count($1)::text else sys.objectproperty($1, $2)::text end;
create function sys.typeproperty(type_name text, property text) returns integer language sql stable return
    (select case lower($2) when 'precision' then case when t.is_text or t.name in ('varbinary', 'binary')
                then t.max_length else t.precision end::integer
            when 'scale' then t.scale::integer when 'allowsnull' then (t.name <> 'sysname')::integer
            when 'ownerid' then 4 end
     from _lab.base_types t where t.name = lower($1));
create function sys.applock_mode(principal text, resource text, lock_owner text) returns text language sql stable return
    coalesce((
        select case l.request_mode when 'X' then 'Exclusive' when 'U' then 'Update' when 'S' then 'Shared'
               when 'IX' then 'IntentExclusive' when 'IS' then 'IntentShared' else l.request_mode end
        from _lab.locks l
        where l.resource_type = 'APPLICATION' and l.session_id = _lab.session_id() and l.resource_name = $2
          and lower(split_part(l.resource_description, ':', 1))
              = case lower($1) when 'public' then '0' when 'dbo' then '1' else lower($1) end
          and lower(l.request_owner_type) = lower($3) and l.request_status = 'GRANT' limit 1), 'NoLock');
