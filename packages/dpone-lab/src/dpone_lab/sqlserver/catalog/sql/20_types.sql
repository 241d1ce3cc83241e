-- T-SQL's types as the catalog tells them: one row of facts for each PostgreSQL type that stores one.
create domain sys."tinyint" as int2;
create domain sys."datetime" as timestamp(3);
create domain sys."nvarchar(128)" as text;
create domain sys."nvarchar(3)" as text;
create domain sys."nvarchar(40)" as text;
create domain sys."nvarchar(60)" as text;
create domain sys."nvarchar(512)" as text;
create domain sys."nvarchar(256)" as text;
create domain sys."nvarchar(4000)" as text;
create domain sys."nvarchar(max)" as text;
create domain sys."varchar(3)" as text;
create domain sys."varchar(10)" as text;
create domain sys."varchar(11)" as text;
create domain sys."varchar(254)" as text;
create domain sys."char(1)" as text;
create domain sys."char(2)" as text;
create domain sys."char(4)" as text;
create domain sys."varbinary(85)" as bytea;
create domain sys."varbinary(128)" as bytea;

create function _lab.collation() returns text language sql immutable parallel safe return
    'Latin1_General_100_BIN2_UTF8';

-- The T-SQL spelling of a column's type: decimal(18,4), nvarchar(50), datetime2(6).
create function _lab.type_spelling(type_id oid, modifier integer) returns text language sql stable begin atomic
    select case
        when t.typtype = 'd' then split_part(t.typname, ' collate ', 1)
        else case t.typname
            when 'int8' then 'bigint' when 'int4' then 'int' when 'int2' then 'smallint' when 'bool' then 'bit'
            when 'oid' then 'int' when 'float8' then 'float' when 'float4' then 'real'
            when 'date' then 'date' when 'uuid' then 'uniqueidentifier'
            when 'numeric' then case when modifier < 0 then 'decimal(38,10)'
                else format('decimal(%s,%s)', ((modifier - 4) >> 16) & 65535, (modifier - 4) & 65535) end
            when 'timestamp' then format('datetime2(%s)', case when modifier < 0 then 6 else modifier end)
            when 'time' then format('time(%s)', case when modifier < 0 then 6 else modifier end)
            when 'bytea' then 'varbinary(max)'
            when 'name' then 'nvarchar(128)'
            else 'nvarchar(max)'
        end
    end
    from pg_type t where t.oid = type_id;
end;

create table _lab.base_types (
    name text primary key,
    system_type_id smallint not null,
    user_type_id integer not null,
    max_length smallint not null,
    precision smallint not null,
    scale smallint not null,
    is_text boolean not null
);
insert into _lab.base_types values
    ('uniqueidentifier', 36, 36, 16, 0, 0, false), ('date', 40, 40, 3, 10, 0, false),
    ('time', 41, 41, 5, 16, 7, false), ('datetime2', 42, 42, 8, 27, 7, false),
    ('datetimeoffset', 43, 43, 10, 34, 7, false), ('tinyint', 48, 48, 1, 3, 0, false),
    ('smallint', 52, 52, 2, 5, 0, false), ('int', 56, 56, 4, 10, 0, false), ('real', 59, 59, 4, 24, 0, false),
    ('datetime', 61, 61, 8, 23, 3, false), ('float', 62, 62, 8, 53, 0, false), ('bit', 104, 104, 1, 1, 0, false),
    ('decimal', 106, 106, 17, 38, 38, false), ('numeric', 108, 108, 17, 38, 38, false),
    ('bigint', 127, 127, 8, 19, 0, false), ('varbinary', 165, 165, 8000, 0, 0, false),
    ('varchar', 167, 167, 8000, 0, 0, true), ('binary', 173, 173, 8000, 0, 0, false),
    ('char', 175, 175, 8000, 0, 0, true), ('timestamp', 189, 189, 8, 0, 0, false),
    ('nvarchar', 231, 231, 8000, 0, 0, true), ('sysname', 231, 256, 256, 0, 0, true),
    ('nchar', 239, 239, 8000, 0, 0, true);

create type _lab.type_facts as (
    name text, system_type_id smallint, user_type_id integer, max_length smallint, precision smallint,
    scale smallint, collation_name text);

-- What sys.columns says of a type: length in bytes, precision and scale as documented.
create function _lab.type_facts(type_id oid, modifier integer) returns _lab.type_facts language sql stable begin atomic
    with spelled as (
        select split_part(s, '(', 1) as name, substring(s from '\((\w+)') as first, substring(s from ',(\d+)') as second
        from _lab.type_spelling(type_id, modifier) s
    ), given as (
        select name, case when first ~ '^\d+$' then first::integer end as n, second::integer as m, first = 'max' as unbounded
        from spelled
    )
    select row(
        b.name, b.system_type_id, b.user_type_id,
        case
            when g.unbounded then -1
            when b.name in ('nvarchar', 'nchar') then 2 * g.n
            when b.name in ('varchar', 'char', 'varbinary', 'binary') then g.n
            when b.name in ('decimal', 'numeric') then
                case when g.n <= 9 then 5 when g.n <= 19 then 9 when g.n <= 28 then 13 else 17 end
            when b.name = 'datetime2' then case when g.n <= 2 then 6 when g.n <= 4 then 7 else 8 end
            when b.name = 'time' then case when g.n <= 2 then 3 when g.n <= 4 then 4 else 5 end
            else b.max_length
        end::smallint,
        case
            when b.name in ('decimal', 'numeric') then g.n
            when b.name = 'datetime2' then case g.n when 0 then 19 else 20 + g.n end
            when b.name = 'time' then case g.n when 0 then 8 else 9 + g.n end
            else b.precision
        end::smallint,
        case
            when b.name in ('decimal', 'numeric') then g.m
            when b.name in ('datetime2', 'time') then g.n
            else b.scale
        end::smallint,
        case when b.is_text then coalesce(
            (select nullif(split_part(t.typname, ' collate ', 2), '') from pg_type t
             where t.oid = type_id and t.typtype = 'd'), _lab.collation()) end
    )::_lab.type_facts
    from given g join _lab.base_types b on b.name = g.name;
end;

create view sys.types as select
    name::sys."nvarchar(128)" as name,
    system_type_id::sys."tinyint" as system_type_id,
    user_type_id,
    4 as schema_id,
    null::integer as principal_id,
    max_length,
    precision::sys."tinyint" as precision,
    scale::sys."tinyint" as scale,
    (case when is_text then _lab.collation() end)::sys."nvarchar(128)" as collation_name,
    name not in ('sysname', 'timestamp') as is_nullable,
    false as is_user_defined,
    false as is_assembly_type,
    0 as default_object_id,
    0 as rule_object_id,
    false as is_table_type
from _lab.base_types;
