-- Dynamic management views over what the endpoint writes of its sessions and locks before it reads them.
-- A view without VIEW SERVER STATE shows one's own session; the others were refused before.
create unlogged table _lab.sessions (
    session_id integer primary key, login_name text, login_id integer, user_id integer, host_name text,
    host_process_id integer, program_name text, connection_id uuid, login_time timestamp(3),
    last_request_start_time timestamp(3), status text, open_transaction_count integer, transaction_id bigint,
    transaction_begin_time timestamp(3), context_info bytea, lock_timeout integer, isolation_level smallint,
    blocking_session_id integer, wait_type text, wait_time integer, backend_pid integer, last_batch text
);
create unlogged table _lab.locks (
    session_id integer, resource_type text, schema_name text, resource_name text, resource_description text,
    request_mode text, request_status text, request_owner_type text
);

create function _lab.sees_server_state() returns boolean language sql stable return
    _lab.allowed(_lab.login_id(), _lab.user_id(), 100, 0, 'VIEW SERVER PERFORMANCE STATE');

create view sys.dm_exec_sessions as
select s.session_id::smallint as session_id, s.login_time::sys."datetime" as login_time, s.host_name::sys."nvarchar(128)" as host_name,
       s.program_name::sys."nvarchar(128)" as program_name, s.host_process_id, 4 as client_version,
       'ODBC'::sys."nvarchar(128)" as client_interface_name,
       s.login_name::sys."nvarchar(128)" as login_name, s.status::sys."nvarchar(60)" as status,
       s.context_info::sys."varbinary(128)" as context_info,
       0 as cpu_time, s.last_request_start_time::sys."datetime" as last_request_start_time,
       s.last_request_start_time::sys."datetime" as last_request_end_time, true as is_user_process,
       s.isolation_level as transaction_isolation_level, s.lock_timeout, 0 as deadlock_priority, 0::bigint as row_count,
       0 as prev_error,
       s.login_name::sys."nvarchar(128)" as original_login_name, 5::smallint as database_id,
       'us_english'::sys."nvarchar(128)" as language, 'mdy'::sys."nvarchar(3)" as date_format, 7::smallint as date_first,
       1::smallint as authenticating_database_id, s.open_transaction_count
from _lab.sessions s
where s.session_id = _lab.session_id() or _lab.sees_server_state();

create view sys.dm_exec_connections as
select s.session_id::integer as session_id, s.session_id::integer as most_recent_session_id,
       s.login_time::sys."datetime" as connect_time, 'TCP'::sys."nvarchar(60)" as net_transport,
       'TSQL'::sys."nvarchar(60)" as protocol_type, 'SQL'::sys."nvarchar(60)" as auth_scheme, s.connection_id,
       null::uuid as parent_connection_id
from _lab.sessions s;

create view sys.dm_exec_requests as
select s.session_id::smallint as session_id, 0 as request_id, s.last_request_start_time::sys."datetime" as start_time,
       (case when s.wait_type is not null then 'suspended' else 'running' end)::sys."nvarchar(60)" as status,
       'SELECT'::sys."nvarchar(60)" as command, 5::smallint as database_id, s.connection_id,
       coalesce(s.blocking_session_id, 0)::smallint as blocking_session_id,
       s.wait_type::sys."nvarchar(60)" as wait_type, coalesce(s.wait_time, 0) as wait_time,
       ''::sys."nvarchar(256)" as wait_resource, s.open_transaction_count,
       s.transaction_id, 0::real as percent_complete, s.isolation_level as transaction_isolation_level, s.lock_timeout,
       0::bigint as row_count
from _lab.sessions s
where (s.status = 'running' or s.wait_type is not null)
  and (s.session_id = _lab.session_id() or _lab.sees_server_state());

create view sys.dm_tran_locks as
select l.resource_type::sys."nvarchar(60)" as resource_type, ''::sys."nvarchar(60)" as resource_subtype,
       5 as resource_database_id, coalesce(l.resource_description, '')::sys."nvarchar(256)" as resource_description,
       coalesce(r.object_id::bigint, 0) as resource_associated_entity_id,
       l.request_mode::sys."nvarchar(60)" as request_mode, 'LOCK'::sys."nvarchar(60)" as request_type,
       l.request_status::sys."nvarchar(60)" as request_status, 1::smallint as request_reference_count,
       0::smallint as request_lifetime, l.session_id as request_session_id,
       upper(l.request_owner_type)::sys."nvarchar(60)" as request_owner_type,
       coalesce(s.transaction_id, 0) as request_owner_id
from _lab.locks l
left join _lab.sessions s on s.session_id = l.session_id
left join _lab.relations r on r.schema_name = l.schema_name and r.name = l.resource_name;

create view sys.dm_tran_active_transactions as
select s.transaction_id, 'user_transaction'::sys."nvarchar(60)" as name,
       s.transaction_begin_time::sys."datetime" as transaction_begin_time, 1 as transaction_type, 2 as transaction_state
from _lab.sessions s where s.transaction_id is not null;
create view sys.dm_tran_session_transactions as
select s.session_id::integer as session_id, s.transaction_id, true as is_user_transaction, true as is_local,
       false as is_enlisted, false as is_bound, s.open_transaction_count
from _lab.sessions s where s.transaction_id is not null;
create view sys.dm_tran_database_transactions as
select s.transaction_id, 5 as database_id, s.transaction_begin_time::sys."datetime" as database_transaction_begin_time,
       1 as database_transaction_type, 4 as database_transaction_state,
       0::bigint as database_transaction_log_bytes_used
from _lab.sessions s where s.transaction_id is not null;
create view sys.dm_tran_current_transaction as
select s.transaction_id, null::bigint as transaction_sequence_num, false as transaction_is_snapshot
from _lab.sessions s where s.session_id = _lab.session_id() and s.transaction_id is not null;

create view sys.dm_os_sys_info as
select 2 as cpu_count, 0::bigint as ms_ticks, f.sqlserver_start_time::sys."datetime" as sqlserver_start_time
from _lab.server_facts f;
create view sys.dm_db_log_space_usage as
select 5 as database_id, 1073741824::bigint as total_log_size_in_bytes, 0::bigint as used_log_space_in_bytes,
       0::real as used_log_space_in_percent;
create view sys.dm_tran_version_store_space_usage as
select 5 as database_id, 0::bigint as reserved_page_count, 0::bigint as reserved_space_kb;
create view sys.dm_hadr_database_replica_states as
select 0 as database_id, false as is_local, false as is_primary_replica where false;
