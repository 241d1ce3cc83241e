-- The ISO views, under their upper-case names and columns.
create view "INFORMATION_SCHEMA"."SCHEMATA" as
select f.name::sys."nvarchar(128)" as "CATALOG_NAME", s.name as "SCHEMA_NAME",
       (select u.name from _lab.users u where u.principal_id = s.principal_id)::sys."nvarchar(128)" as "SCHEMA_OWNER"
from sys.schemas s cross join _lab.database_facts f;

create view "INFORMATION_SCHEMA"."TABLES" as
select f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", o.name as "TABLE_NAME",
       (case o.type when 'V ' then 'VIEW' else 'BASE TABLE' end)::sys."varchar(10)" as "TABLE_TYPE"
from sys.objects o join sys.schemas s on s.schema_id = o.schema_id cross join _lab.database_facts f
where o.type in ('U ', 'V ');

create view "INFORMATION_SCHEMA"."VIEWS" as
select f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", o.name as "TABLE_NAME",
       left(m.definition, 4000)::sys."nvarchar(4000)" as "VIEW_DEFINITION", 'NONE'::sys."varchar(10)" as "CHECK_OPTION",
       'NO'::sys."varchar(3)" as "IS_UPDATABLE"
from sys.objects o
join sys.schemas s on s.schema_id = o.schema_id
left join sys.sql_modules m on m.object_id = o.object_id
cross join _lab.database_facts f
where o.type = 'V ';

create view "INFORMATION_SCHEMA"."COLUMNS" as
select f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", o.name as "TABLE_NAME",
       c.name as "COLUMN_NAME",
       row_number() over (partition by c.object_id order by c.column_id)::integer as "ORDINAL_POSITION",
       (select d.definition from sys.default_constraints d where d.object_id = c.default_object_id)::sys."nvarchar(4000)"
           as "COLUMN_DEFAULT",
       (case when c.is_nullable then 'YES' else 'NO' end)::sys."varchar(3)" as "IS_NULLABLE",
       t.name as "DATA_TYPE",
       case when t.name in ('nvarchar', 'nchar') and c.max_length > 0 then c.max_length / 2
            when t.name in ('nvarchar', 'nchar', 'varchar', 'char', 'varbinary', 'binary') then c.max_length::integer
            end as "CHARACTER_MAXIMUM_LENGTH",
       case when t.name in ('nvarchar', 'nchar', 'varchar', 'char', 'varbinary', 'binary')
            then c.max_length::integer end as "CHARACTER_OCTET_LENGTH",
       (case when t.name in ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'float', 'real')
             then c.precision end)::sys."tinyint" as "NUMERIC_PRECISION",
       (case when t.name in ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric') then 10
             when t.name in ('float', 'real') then 2 end)::smallint as "NUMERIC_PRECISION_RADIX",
       case when t.name in ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric')
            then c.scale::integer end as "NUMERIC_SCALE",
       (case when t.name in ('datetime2', 'time', 'datetime') then c.scale when t.name = 'date' then 0 end)::smallint
           as "DATETIME_PRECISION",
       (case when c.collation_name is not null then
           case when t.name in ('nvarchar', 'nchar') then 'UNICODE' else 'UTF-8' end end)::sys."nvarchar(128)"
           as "CHARACTER_SET_NAME",
       c.collation_name as "COLLATION_NAME"
from sys.columns c
join sys.objects o on o.object_id = c.object_id
join sys.schemas s on s.schema_id = o.schema_id
join sys.types t on t.user_type_id = c.user_type_id
cross join _lab.database_facts f;

create view "INFORMATION_SCHEMA"."TABLE_CONSTRAINTS" as
select f.name::sys."nvarchar(128)" as "CONSTRAINT_CATALOG", s.name as "CONSTRAINT_SCHEMA", o.name as "CONSTRAINT_NAME",
       f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", t.name as "TABLE_NAME",
       (case o.type when 'PK' then 'PRIMARY KEY' when 'UQ' then 'UNIQUE' when 'F ' then 'FOREIGN KEY'
            else 'CHECK' end)::sys."varchar(11)" as "CONSTRAINT_TYPE",
       'NO'::sys."varchar(3)" as "IS_DEFERRABLE", 'NO'::sys."varchar(3)" as "INITIALLY_DEFERRED"
from sys.objects o
join sys.objects t on t.object_id = o.parent_object_id
join sys.schemas s on s.schema_id = t.schema_id
cross join _lab.database_facts f
where o.type in ('PK', 'UQ', 'F ', 'C ');

create view "INFORMATION_SCHEMA"."KEY_COLUMN_USAGE" as
select f.name::sys."nvarchar(128)" as "CONSTRAINT_CATALOG", s.name as "CONSTRAINT_SCHEMA", o.name as "CONSTRAINT_NAME",
       f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", t.name as "TABLE_NAME",
       c.name as "COLUMN_NAME", k.place::integer as "ORDINAL_POSITION"
from sys.objects o
join sys.objects t on t.object_id = o.parent_object_id
join sys.schemas s on s.schema_id = t.schema_id
join pg_constraint p on p.oid = o.object_id::oid
cross join lateral unnest(p.conkey) with ordinality k(attnum, place)
join sys.columns c on c.object_id = t.object_id and c.column_id = k.attnum
cross join _lab.database_facts f
where o.type in ('PK', 'UQ', 'F ');

create view "INFORMATION_SCHEMA"."TABLE_PRIVILEGES" as
select grantor.name::sys."nvarchar(128)" as "GRANTOR", grantee.name::sys."nvarchar(128)" as "GRANTEE",
       f.name::sys."nvarchar(128)" as "TABLE_CATALOG", s.name as "TABLE_SCHEMA", o.name as "TABLE_NAME",
       p.permission::sys."varchar(10)" as "PRIVILEGE_TYPE",
       (case p.state when 'W' then 'YES' else 'NO' end)::sys."varchar(3)" as "IS_GRANTABLE"
from _lab.permissions p
join sys.objects o on o.object_id = p.major_id
join sys.schemas s on s.schema_id = o.schema_id
join _lab.users grantor on grantor.principal_id = p.grantor_id
join _lab.users grantee on grantee.principal_id = p.grantee_id
cross join _lab.database_facts f
where p.class = 1 and p.minor_id = 0 and p.state <> 'D'
  and p.permission in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'REFERENCES');
