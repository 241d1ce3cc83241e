-- Principals, memberships and permissions as catalog views; each login sees itself and what it may see.
create view sys.database_principals as
select u.name::sys."nvarchar(128)" as name, u.principal_id, u.type::sys."char(1)" as type,
       (case u.type when 'R' then 'DATABASE_ROLE' else 'SQL_USER' end)::sys."nvarchar(60)" as type_desc,
       u.default_schema::sys."nvarchar(128)" as default_schema_name, u.create_date::sys."datetime" as create_date,
       u.create_date::sys."datetime" as modify_date, u.owner_id as owning_principal_id,
       u.sid::sys."varbinary(85)" as sid, u.is_fixed_role,
       (case when u.sid is null then 0 else 1 end) as authentication_type,
       (case when u.sid is null then 'NONE' else 'INSTANCE' end)::sys."nvarchar(60)" as authentication_type_desc
from _lab.users u
where (select _lab.sees_everything()) or u.is_fixed_role or u.principal_id < 5
   or u.principal_id in (select i.principal_id from _lab.identities(_lab.user_id()) i)
   or _lab.allowed(_lab.login_id(), _lab.user_id(), 0, 0, case u.type when 'R' then 'ALTER ANY ROLE' else 'ALTER ANY USER' end);

create view sys.database_role_members as
select m.role_principal_id, m.member_principal_id
from _lab.role_members m
where m.role_principal_id in (select p.principal_id from sys.database_principals p)
  and m.member_principal_id in (select p.principal_id from sys.database_principals p);

create view sys.server_principals as
select l.name::sys."nvarchar(128)" as name, l.principal_id, l.sid::sys."varbinary(85)" as sid,
       (case when l.is_role then 'R' else 'S' end)::sys."char(1)" as type,
       (case when l.is_role then 'SERVER_ROLE' else 'SQL_LOGIN' end)::sys."nvarchar(60)" as type_desc, l.is_disabled,
       l.create_date::sys."datetime" as create_date, l.create_date::sys."datetime" as modify_date,
       (case when l.is_role then null else l.default_database end)::sys."nvarchar(128)" as default_database_name,
       l.principal_id < 257 and l.is_role as is_fixed_role
from _lab.logins l
where l.is_role or l.principal_id in (1, _lab.login_id())
   or _lab.allowed(_lab.login_id(), _lab.user_id(), 100, 0, 'ALTER ANY LOGIN')
   or _lab.allowed(_lab.login_id(), _lab.user_id(), 100, 0, 'VIEW ANY DEFINITION');
create view sys.sql_logins as
select p.name, p.principal_id, p.sid, p.type, p.type_desc, p.is_disabled, p.create_date, p.modify_date,
       p.default_database_name
from sys.server_principals p where p.type = 'S';
create view sys.server_role_members as
select role_principal_id, member_principal_id from _lab.server_role_members
where member_principal_id in (select p.principal_id from sys.server_principals p);

create function _lab.permission_code(permission text) returns text language sql immutable parallel safe return
    case permission
        when 'SELECT' then 'SL' when 'INSERT' then 'IN' when 'UPDATE' then 'UP' when 'DELETE' then 'DL'
        when 'EXECUTE' then 'EX' when 'REFERENCES' then 'RF' when 'ALTER' then 'AL' when 'CONTROL' then 'CL'
        when 'VIEW DEFINITION' then 'VW' when 'TAKE OWNERSHIP' then 'TO' when 'CONNECT' then 'CO'
        when 'CREATE TABLE' then 'CRTB' when 'CREATE VIEW' then 'CRVW' when 'CREATE SCHEMA' then 'CRSM'
        when 'CREATE PROCEDURE' then 'CRPR' when 'CREATE FUNCTION' then 'CRFN' when 'CREATE ROLE' then 'CRRL'
        when 'ALTER ANY SCHEMA' then 'ALSM' when 'ALTER ANY USER' then 'ALUS' when 'ALTER ANY ROLE' then 'ALRL'
        when 'ALTER ANY DATABASE DDL TRIGGER' then 'ALTG' when 'VIEW DATABASE STATE' then 'VWDS'
        when 'VIEW SERVER STATE' then 'VWSS' when 'VIEW ANY DEFINITION' then 'VWAD' when 'CONTROL SERVER' then 'CL'
        when 'VIEW ANY DATABASE' then 'VWDB' when 'ALTER ANY LOGIN' then 'ALLG' when 'ALTER SERVER STATE' then 'ALSS'
        when 'CONNECT SQL' then 'COSQ' when 'CREATE SYNONYM' then 'CRSN'
        else left(replace(permission, ' ', ''), 4)
    end;

create view _lab.shown_permissions as
select p.class, p.major_id, p.minor_id, p.grantee_id, p.grantor_id, p.permission,
       _lab.permission_code(p.permission) as code, p.state,
       case p.state when 'G' then 'GRANT' when 'W' then 'GRANT_WITH_GRANT_OPTION' when 'D' then 'DENY' end as state_desc
from _lab.permissions p;

create view sys.database_permissions as
select p.class::int2::sys."tinyint" as class,
       (case p.class when 0 then 'DATABASE' when 3 then 'SCHEMA' else 'OBJECT_OR_COLUMN' end)::sys."nvarchar(60)"
           as class_desc,
       case p.class when 3 then _lab.public_schema_id(n.nspname, n.oid) else p.major_id end as major_id, p.minor_id,
       p.grantee_id as grantee_principal_id, p.grantor_id as grantor_principal_id,
       rpad(p.code, 4)::sys."char(4)" as type, p.permission::sys."nvarchar(128)" as permission_name,
       p.state::sys."char(1)" as state, p.state_desc::sys."nvarchar(60)" as state_desc
from _lab.shown_permissions p
left join pg_namespace n on p.class = 3 and n.oid = p.major_id::oid
where p.class <> 100
  and p.grantee_id in (select d.principal_id from sys.database_principals d)
  and (p.class <> 1 or (select _lab.sees_everything()) or p.major_id in (select _lab.visible_objects()));

create view sys.server_permissions as
select 100::int2::sys."tinyint" as class, 'SERVER'::sys."nvarchar(60)" as class_desc, 0 as major_id, 0 as minor_id,
       p.grantee_id as grantee_principal_id, p.grantor_id as grantor_principal_id,
       rpad(p.code, 4)::sys."char(4)" as type, p.permission::sys."nvarchar(128)" as permission_name,
       p.state::sys."char(1)" as state, p.state_desc::sys."nvarchar(60)" as state_desc
from _lab.shown_permissions p
where p.class = 100 and p.grantee_id in (select s.principal_id from sys.server_principals s);

create view sys.databases as
select v.name::sys."nvarchar(128)" as name, v.id as database_id, null::integer as source_database_id,
       '\x01'::bytea::sys."varbinary(85)" as owner_sid, f.create_date::sys."datetime" as create_date,
       160::int2::sys."tinyint" as compatibility_level, _lab.collation()::sys."nvarchar(128)" as collation_name,
       0::int2::sys."tinyint" as user_access, 'MULTI_USER'::sys."nvarchar(60)" as user_access_desc,
       false as is_read_only, false as is_auto_close_on, false as is_auto_shrink_on,
       0::int2::sys."tinyint" as state, 'ONLINE'::sys."nvarchar(60)" as state_desc, false as is_in_standby,
       0::int2::sys."tinyint" as snapshot_isolation_state, 'OFF'::sys."nvarchar(60)" as snapshot_isolation_state_desc,
       v.id = 5 and f.is_read_committed_snapshot_on as is_read_committed_snapshot_on,
       1::int2::sys."tinyint" as recovery_model, 'FULL'::sys."nvarchar(60)" as recovery_model_desc,
       false as is_ansi_null_default_on, false as is_trustworthy_on, false as is_db_chaining_on,
       false as is_broker_enabled, false as is_cdc_enabled, false as is_encrypted,
       null::uuid as replica_id, null::uuid as group_database_id, 0 as delayed_durability,
       'DISABLED'::sys."nvarchar(60)" as delayed_durability_desc, false as is_ledger_on,
       false as is_memory_optimized_elevate_to_snapshot_on, false as is_accelerated_database_recovery_on
from _lab.database_facts f
cross join lateral (values ('master', 1), ('tempdb', 2), ('model', 3), ('msdb', 4), (f.name, 5)) v(name, id);

create view sys.database_recovery_status as
select d.database_id, null::uuid as database_guid, f.recovery_fork_guid as family_guid, null::numeric(25, 0)
           as last_log_backup_lsn,
       f.recovery_fork_guid, f.recovery_fork_guid as first_recovery_fork_guid, null::numeric(25, 0) as fork_point_lsn
from sys.databases d cross join _lab.database_facts f
where d.database_id = 5
  and (_lab.user_id() = 1 or _lab.allowed(_lab.login_id(), _lab.user_id(), 100, 0, 'VIEW ANY DATABASE'));
create view sys.change_tracking_databases as
select 0 as database_id, false as is_auto_cleanup_on where false;
create view sys.change_tracking_tables as
select 0 as object_id, false as is_track_columns_updated_on where false;
