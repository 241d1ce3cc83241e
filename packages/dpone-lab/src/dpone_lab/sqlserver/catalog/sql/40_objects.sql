-- The catalog views about objects. Each filters silently by metadata visibility, as documented.
create function _lab.public_schema_id(name text, schema_oid oid) returns integer
language sql immutable parallel safe return
    case name when 'dbo' then 1 when 'guest' then 2 when 'INFORMATION_SCHEMA' then 3 when 'sys' then 4
    else schema_oid::integer end;

create view sys.schemas as
select nspname::sys."nvarchar(128)" as name, _lab.public_schema_id(nspname, n.oid) as schema_id,
       coalesce(o.principal_id, 1) as principal_id
from pg_namespace n left join _lab.schema_owners o on o.schema_oid = n.oid
where _lab.is_user_schema(nspname)
union all
select v.name::sys."nvarchar(128)", v.id, v.id
from (values ('guest', 2), ('INFORMATION_SCHEMA', 3), ('sys', 4)) v(name, id);

-- Tables and views of users, temporary tables of this session with is_temp.
create view _lab.relations as
select c.oid as relation_oid, c.oid::integer as object_id, c.relname as name, n.nspname as schema_name,
       n.oid as schema_oid, case when c.relkind = 'v' then 'V' else 'U' end as type,
       c.relpersistence = 't' as is_temp, d.create_date, d.modify_date
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join _lab.object_dates d on d.object_id = c.oid::integer
where c.relkind in ('r', 'p', 'v')
  and (_lab.is_user_schema(n.nspname) or n.oid = pg_my_temp_schema());

create view _lab.constraints as
select k.oid::integer as object_id, k.conname::text as name, r.schema_oid, r.schema_name, r.object_id as parent_object_id,
       case k.contype when 'p' then 'PK' when 'u' then 'UQ' when 'f' then 'F ' when 'c' then 'C ' end as type,
       k.oid as constraint_oid, r.create_date, r.is_temp
from pg_constraint k join _lab.relations r on r.relation_oid = k.conrelid
where k.contype in ('p', 'u', 'f', 'c')
union all
select d.oid::integer,
       format('DF__%s__%s__%s', left(r.name, 9), left(a.attname, 5), upper(lpad(to_hex(d.oid::bigint), 8, '0'))),
       r.schema_oid, r.schema_name, r.object_id, 'D ', d.oid, r.create_date, r.is_temp
from pg_attrdef d
join _lab.relations r on r.relation_oid = d.adrelid
join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
where a.attgenerated = '' and not r.type = 'V';

-- All objects of the database with the kinds that the lab knows, unfiltered.
create view _lab.objects as
select object_id, name::text, schema_oid, schema_name::text, 0 as parent_object_id, type, create_date, modify_date,
       object_id as visible_through
from _lab.relations where not is_temp
union all
select object_id, name, schema_oid, schema_name, parent_object_id, type, create_date, create_date, parent_object_id
from _lab.constraints where not is_temp
union all
select t.object_id, t.name, t.schema_oid, n.nspname, t.parent_id, 'TR', t.create_date, t.modify_date, t.parent_id
from _lab.triggers t join pg_namespace n on n.oid = t.schema_oid
where t.parent_class = 1
union all
select d.object_id, d.name, d.schema_oid, n.nspname, 0, d.type::text, null, null, d.object_id
from _lab.declared_objects d join pg_namespace n on n.oid = d.schema_oid;

create function _lab.type_desc(type text) returns text language sql immutable parallel safe return
    case rtrim(type)
        when 'U' then 'USER_TABLE' when 'V' then 'VIEW' when 'PK' then 'PRIMARY_KEY_CONSTRAINT'
        when 'UQ' then 'UNIQUE_CONSTRAINT' when 'F' then 'FOREIGN_KEY_CONSTRAINT' when 'C' then 'CHECK_CONSTRAINT'
        when 'D' then 'DEFAULT_CONSTRAINT' when 'TR' then 'SQL_TRIGGER' when 'SN' then 'SYNONYM'
        when 'SO' then 'SEQUENCE_OBJECT' when 'FN' then 'SQL_SCALAR_FUNCTION'
        when 'IF' then 'SQL_INLINE_TABLE_VALUED_FUNCTION' when 'TF' then 'SQL_TABLE_VALUED_FUNCTION'
        when 'P' then 'SQL_STORED_PROCEDURE' when 'SP' then 'SECURITY_POLICY'
    end;

create view sys.objects as
select o.name::sys."nvarchar(128)" as name, o.object_id, null::integer as principal_id,
       _lab.public_schema_id(o.schema_name, o.schema_oid) as schema_id, o.parent_object_id,
       rpad(o.type, 2)::sys."char(2)" as type, _lab.type_desc(o.type)::sys."nvarchar(60)" as type_desc,
       coalesce(o.create_date, timestamp '2026-01-01')::sys."datetime" as create_date,
       coalesce(o.modify_date, timestamp '2026-01-01')::sys."datetime" as modify_date,
       false as is_ms_shipped, false as is_published, false as is_schema_published
from _lab.objects o
where (select _lab.sees_everything()) or o.visible_through in (select _lab.visible_objects());

create view sys.all_objects as
select * from sys.objects
union all
select c.relname::sys."nvarchar(128)", c.oid::integer, null, case n.nspname when 'sys' then 4 else 3 end, 0,
       'V '::sys."char(2)", 'VIEW'::sys."nvarchar(60)", timestamp '2026-01-01'::sys."datetime",
       timestamp '2026-01-01'::sys."datetime", true, false, false
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('sys', 'INFORMATION_SCHEMA') and c.relkind = 'v';

create view sys.tables as
select o.*, 0 as lob_data_space_id, null::integer as filestream_data_space_id,
       (select max(a.attnum)::integer from pg_attribute a where a.attrelid = o.object_id::oid) as max_column_id_used,
       false as lock_on_bulk_load, true as uses_ansi_nulls, false as is_replicated, false as has_replication_filter,
       false as is_merge_published, false as is_sync_tran_subscribed, false as has_unchecked_assembly_data,
       0 as text_in_row_limit, false as large_value_types_out_of_row, false as is_tracked_by_cdc,
       0::sys."tinyint" as lock_escalation, 'TABLE'::sys."nvarchar(60)" as lock_escalation_desc,
       false as is_filetable, false as is_memory_optimized, 0::sys."tinyint" as durability,
       'SCHEMA_AND_DATA'::sys."nvarchar(60)" as durability_desc, 0::sys."tinyint" as temporal_type,
       'NON_TEMPORAL_TABLE'::sys."nvarchar(60)" as temporal_type_desc, null::integer as history_table_id,
       false as is_remote_data_archive_enabled, false as is_external, null::integer as history_retention_period,
       null::integer as history_retention_period_unit, false as is_node, false as is_edge,
       0::sys."tinyint" as ledger_type, 'NON_LEDGER_TABLE'::sys."nvarchar(60)" as ledger_type_desc,
       null::integer as ledger_view_id, false as is_dropped_ledger_table
from sys.objects o where o.type = 'U ';

create view sys.views as
select o.*, false as is_replicated, false as has_replication_filter, false as has_opaque_metadata,
       false as has_unchecked_assembly_data, false as with_check_option, false as is_date_correlation_view,
       false as is_tracked_by_cdc, false as has_snapshot, 0::sys."tinyint" as ledger_view_type,
       'NON_LEDGER_VIEW'::sys."nvarchar(60)" as ledger_view_type_desc, false as is_dropped_ledger_view
from sys.objects o where o.type = 'V ';

create view sys.procedures as select o.* from sys.objects o where o.type = 'P ';

create view sys.synonyms as
select o.*, d.base_object_name::sys."nvarchar(4000)" as base_object_name
from sys.objects o join _lab.declared_objects d on d.object_id = o.object_id where o.type = 'SN';

create view sys.sequences as
select o.*, 1::bigint as start_value, 1::bigint as increment, false as is_cycling, false as is_cached
from sys.objects o where o.type = 'SO';

create view _lab.columns as
select r.object_id, a.attname::sys."nvarchar(128)" as name, a.attnum::integer as column_id, r.is_temp,
       f.system_type_id::sys."tinyint" as system_type_id, f.user_type_id, f.max_length,
       f.precision::sys."tinyint" as precision, f.scale::sys."tinyint" as scale,
       f.collation_name::sys."nvarchar(128)" as collation_name, not a.attnotnull as is_nullable,
       true as is_ansi_padded, false as is_rowguidcol, a.attidentity <> '' as is_identity,
       a.attgenerated <> '' as is_computed, false as is_filestream, false as is_replicated,
       false as is_non_sql_subscribed, false as is_merge_published, false as is_dts_replicated,
       false as is_xml_document, 0 as xml_collection_id,
       coalesce((select d.oid::integer from pg_attrdef d
                 where d.adrelid = a.attrelid and d.adnum = a.attnum and a.attgenerated = ''), 0) as default_object_id,
       0 as rule_object_id, false as is_sparse, false as is_column_set,
       0::sys."tinyint" as generated_always_type, 'NOT_APPLICABLE'::sys."nvarchar(60)" as generated_always_type_desc,
       null::integer as encryption_type, null::sys."nvarchar(60)" as encryption_type_desc,
       null::sys."nvarchar(128)" as encryption_algorithm_name, null::integer as column_encryption_key_id,
       null::sys."nvarchar(128)" as column_encryption_key_database_name, false as is_hidden, false as is_masked,
       null::integer as graph_type, null::sys."nvarchar(60)" as graph_type_desc,
       false as is_data_deletion_filter_column, null::integer as ledger_view_column_type,
       null::sys."nvarchar(60)" as ledger_view_column_type_desc, false as is_dropped_ledger_column
from _lab.relations r
join pg_attribute a on a.attrelid = r.relation_oid and a.attnum > 0 and not a.attisdropped
cross join lateral _lab.type_facts(a.atttypid, a.atttypmod) f;

create view sys.columns as
select object_id, name, column_id, system_type_id, user_type_id, max_length, precision, scale, collation_name,
       is_nullable, is_ansi_padded, is_rowguidcol, is_identity, is_computed, is_filestream, is_replicated,
       is_non_sql_subscribed, is_merge_published, is_dts_replicated, is_xml_document, xml_collection_id,
       default_object_id, rule_object_id, is_sparse, is_column_set, generated_always_type, generated_always_type_desc,
       encryption_type, encryption_type_desc, encryption_algorithm_name, column_encryption_key_id,
       column_encryption_key_database_name, is_hidden, is_masked, graph_type, graph_type_desc,
       is_data_deletion_filter_column, ledger_view_column_type, ledger_view_column_type_desc, is_dropped_ledger_column
from _lab.columns c
where not is_temp
  and ((select _lab.sees_everything()) or c.object_id in (select _lab.visible_objects()));
create view sys.all_columns as select * from sys.columns;

create view sys.identity_columns as
select c.*, s.seqstart as seed_value, s.seqincrement as increment_value, null::bigint as last_value,
       false as is_not_for_replication
from sys.columns c
join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.object_id::oid
    and d.refobjsubid = c.column_id and d.classid = 'pg_class'::regclass and d.deptype = 'i'
join pg_sequence s on s.seqrelid = d.objid
where c.is_identity;

create view sys.computed_columns as
select c.*, pg_get_expr(d.adbin, d.adrelid)::sys."nvarchar(max)" as definition, true as uses_database_collation,
       a.attgenerated = 's' as is_persisted
from sys.columns c
join pg_attribute a on a.attrelid = c.object_id::oid and a.attnum = c.column_id
join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where c.is_computed;
create view sys.masked_columns as
select c.*, null::sys."nvarchar(4000)" as masking_function from sys.columns c where c.is_masked;

-- Index 0 is a heap, 1 the clustered index: the one declared so, else the primary key.
create view _lab.indexes as
with known as (
    select r.object_id, r.is_temp, i.indexrelid as index_oid, i.indrelid,
           coalesce(k.conname, f.name, c.relname)::text as name,
           i.indisunique as is_unique, i.indisprimary as is_primary_key,
           coalesce(k.contype = 'u', false) as is_unique_constraint,
           pg_get_expr(i.indpred, i.indrelid) as filter_definition,
           coalesce(f.is_clustered, i.indisprimary and not exists (
               select from _lab.index_facts other join pg_index oi on oi.indexrelid = other.index_oid
               where oi.indrelid = i.indrelid and other.is_clustered and oi.indexrelid <> i.indexrelid
           )) as is_clustered
    from pg_index i
    join _lab.relations r on r.relation_oid = i.indrelid
    join pg_class c on c.oid = i.indexrelid
    left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
    left join _lab.index_facts f on f.index_oid = i.indexrelid
)
select object_id, is_temp, index_oid, name, case when is_clustered then 1 else 2 end as type, is_unique,
       is_primary_key, is_unique_constraint, filter_definition,
       (case when is_clustered then 1
        else 1 + row_number() over (partition by object_id, is_clustered order by index_oid) end)::integer as index_id
from known
union all
select r.object_id, r.is_temp, null, null, 0, false, false, false, null, 0
from _lab.relations r
where r.type = 'U' and not exists (select from known k where k.object_id = r.object_id and k.is_clustered);

create view _lab.shown_indexes as
select i.object_id, i.name::sys."nvarchar(128)" as name, i.index_id, i.type::sys."tinyint" as type,
       (case i.type when 0 then 'HEAP' when 1 then 'CLUSTERED' else 'NONCLUSTERED' end)::sys."nvarchar(60)" as type_desc,
       i.is_unique, 1 as data_space_id, false as ignore_dup_key, i.is_primary_key, i.is_unique_constraint,
       0::sys."tinyint" as fill_factor, false as is_padded, false as is_disabled, false as is_hypothetical,
       false as is_ignored_in_optimization, true as allow_row_locks, true as allow_page_locks,
       i.filter_definition is not null as has_filter, i.filter_definition::sys."nvarchar(max)" as filter_definition,
       null::integer as compression_delay, false as suppress_dup_key_messages, false as auto_created,
       false as optimize_for_sequential_key, i.is_temp
from _lab.indexes i;
create view sys.indexes as
select object_id, name, index_id, type, type_desc, is_unique, data_space_id, ignore_dup_key, is_primary_key,
       is_unique_constraint, fill_factor, is_padded, is_disabled, is_hypothetical, is_ignored_in_optimization,
       allow_row_locks, allow_page_locks, has_filter, filter_definition, compression_delay,
       suppress_dup_key_messages, auto_created, optimize_for_sequential_key
from _lab.shown_indexes i
where not is_temp and ((select _lab.sees_everything()) or i.object_id in (select _lab.visible_objects()));

create view _lab.index_columns as
select i.object_id, i.index_id, k.place::integer as index_column_id, k.attnum::integer as column_id,
       (case when k.place <= x.indnkeyatts then k.place else 0 end)::int2::sys."tinyint" as key_ordinal,
       0::sys."tinyint" as partition_ordinal,
       k.place <= x.indnkeyatts and coalesce((x.indoption[k.place - 1] & 1) = 1, false) as is_descending_key,
       k.place > x.indnkeyatts as is_included_column, 0::sys."tinyint" as column_store_order_ordinal, i.is_temp
from _lab.indexes i
join pg_index x on x.indexrelid = i.index_oid
cross join lateral unnest(x.indkey::int2[]) with ordinality k(attnum, place);
create view sys.index_columns as
select object_id, index_id, index_column_id, column_id, key_ordinal, partition_ordinal, is_descending_key,
       is_included_column, column_store_order_ordinal
from _lab.index_columns i
where not is_temp and ((select _lab.sees_everything()) or i.object_id in (select _lab.visible_objects()));

create function _lab.row_count(object_id integer) returns bigint language plpgsql stable set search_path = pg_catalog as $$
declare counted bigint;
begin
    execute format('select count(*) from %s', object_id::oid::regclass) into counted;
    return counted;
end $$;
create view sys.partitions as
select (i.object_id::bigint << 16) + i.index_id as partition_id, i.object_id, i.index_id, 1 as partition_number,
       (i.object_id::bigint << 16) + i.index_id as hobt_id, _lab.row_count(i.object_id) as rows,
       0::smallint as filestream_filegroup_id, 0::sys."tinyint" as data_compression,
       'NONE'::sys."nvarchar(60)" as data_compression_desc
from sys.indexes i;

create view sys.key_constraints as
select o.*, i.index_id as unique_index_id, false as is_system_named, true as is_enforced
from sys.objects o
join _lab.constraints c on c.object_id = o.object_id
join pg_constraint k on k.oid = c.constraint_oid
join _lab.indexes i on i.index_oid = k.conindid
where o.type in ('PK', 'UQ');
create view sys.check_constraints as
select o.*, false as is_disabled, false as is_not_for_replication, not k.convalidated as is_not_trusted,
       case when cardinality(k.conkey) = 1 then k.conkey[1]::integer else 0 end as parent_column_id,
       pg_get_expr(k.conbin, k.conrelid)::sys."nvarchar(max)" as definition, true as uses_database_collation,
       false as is_system_named
from sys.objects o
join _lab.constraints c on c.object_id = o.object_id
join pg_constraint k on k.oid = c.constraint_oid
where o.type = 'C ';
create view sys.default_constraints as
select o.*, d.adnum::integer as parent_column_id,
       ('(' || pg_get_expr(d.adbin, d.adrelid) || ')')::sys."nvarchar(max)" as definition, true as is_system_named
from sys.objects o join pg_attrdef d on d.oid = o.object_id::oid
where o.type = 'D ';
create view sys.foreign_keys as
select o.*, k.confrelid::integer as referenced_object_id,
       (select i.index_id from _lab.indexes i where i.index_oid = k.conindid) as key_index_id,
       false as is_disabled, false as is_not_for_replication, not k.convalidated as is_not_trusted,
       a.on_delete::int2::sys."tinyint" as delete_referential_action,
       (array['NO_ACTION', 'CASCADE', 'SET_NULL', 'SET_DEFAULT'])[a.on_delete + 1]::sys."nvarchar(60)"
           as delete_referential_action_desc,
       a.on_update::int2::sys."tinyint" as update_referential_action,
       (array['NO_ACTION', 'CASCADE', 'SET_NULL', 'SET_DEFAULT'])[a.on_update + 1]::sys."nvarchar(60)"
           as update_referential_action_desc,
       false as is_system_named
from sys.objects o
join _lab.constraints c on c.object_id = o.object_id
join pg_constraint k on k.oid = c.constraint_oid
cross join lateral (values (
    case k.confdeltype when 'c' then 1 when 'n' then 2 when 'd' then 3 else 0 end,
    case k.confupdtype when 'c' then 1 when 'n' then 2 when 'd' then 3 else 0 end)) a(on_delete, on_update)
where o.type = 'F ';
create view sys.foreign_key_columns as
select f.object_id as constraint_object_id, p.place::integer as constraint_column_id,
       f.parent_object_id, p.attnum::integer as parent_column_id, f.referenced_object_id,
       k.confkey[p.place]::integer as referenced_column_id
from sys.foreign_keys f
join pg_constraint k on k.oid = f.object_id::oid
cross join lateral unnest(k.conkey) with ordinality p(attnum, place);

create view sys.triggers as
select t.name::sys."nvarchar(128)" as name, t.object_id, t.parent_class::sys."tinyint" as parent_class,
       (case t.parent_class when 0 then 'DATABASE' else 'OBJECT_OR_COLUMN' end)::sys."nvarchar(60)" as parent_class_desc,
       case t.parent_class when 0 then 0 else t.parent_id end as parent_id, 'TR'::sys."char(2)" as type,
       'SQL_TRIGGER'::sys."nvarchar(60)" as type_desc, t.create_date::sys."datetime" as create_date,
       t.modify_date::sys."datetime" as modify_date, false as is_ms_shipped, t.is_disabled,
       false as is_not_for_replication, t.is_instead_of as is_instead_of_trigger
from _lab.triggers t
where (select _lab.sees_everything())
   or (t.parent_class = 1 and t.parent_id in (select _lab.visible_objects()))
   or (t.parent_class = 0
       and _lab.allowed(_lab.login_id(), _lab.user_id(), 0, 0, 'ALTER ANY DATABASE DDL TRIGGER'));
create view sys.trigger_events as
select t.object_id, coalesce((case e.name when 'INSERT' then 1 when 'UPDATE' then 2 when 'DELETE' then 3 end), 10016)
           as type,
       e.name::sys."nvarchar(60)" as type_desc, false as is_first, false as is_last
from sys.triggers s
join _lab.triggers t on t.object_id = s.object_id
cross join lateral unnest(t.events) e(name);

-- As documented: NULL for CALLER, -2 for OWNER, else the id of the principal; SELF is the creator, here dbo.
create function _lab.runs_as(definition text) returns integer language sql stable begin atomic
    with clause(who) as (
        select (regexp_match($1, '\mwith\s+execute\s+as\s+(caller|owner|self|N?''[^'']*'')', 'i'))[1]
    )
    select case when who is null or lower(who) = 'caller' then null when lower(who) = 'owner' then -2
           else coalesce((select u.principal_id from _lab.users u
                          where lower(u.name) = lower(trim(both '''' from ltrim(who, 'N')))), 1) end
    from clause;
end;
create view sys.sql_modules as
select m.object_id,
       (case when (select _lab.sees_everything()) or _lab.sees_definition(coalesce(t.parent_id, m.object_id))
             then m.definition end)::sys."nvarchar(max)" as definition,
       true as uses_ansi_nulls, true as uses_quoted_identifier, m.is_schema_bound, true as uses_database_collation,
       false as is_recompiled, false as null_on_null_input, _lab.runs_as(m.definition) as execute_as_principal_id
from (
    select object_id, definition, is_schema_bound from _lab.modules
    union all select object_id, definition, false from _lab.triggers
) m
left join _lab.triggers t on t.object_id = m.object_id and t.parent_class = 1
where (select _lab.sees_everything())
   or coalesce(t.parent_id, m.object_id) in (select _lab.visible_objects());

create view sys.sql_expression_dependencies as
select d.referencing_id, 0 as referencing_minor_id, 1::sys."tinyint" as referencing_class,
       'OBJECT_OR_COLUMN'::sys."nvarchar(60)" as referencing_class_desc, false as is_schema_bound_reference,
       1::sys."tinyint" as referenced_class, 'OBJECT_OR_COLUMN'::sys."nvarchar(60)" as referenced_class_desc,
       d.referenced_server_name::sys."nvarchar(128)" as referenced_server_name,
       d.referenced_database_name::sys."nvarchar(128)" as referenced_database_name,
       d.referenced_schema_name::sys."nvarchar(128)" as referenced_schema_name,
       d.referenced_entity_name::sys."nvarchar(128)" as referenced_entity_name,
       (select o.object_id from _lab.objects o
        where lower(o.name) = lower(d.referenced_entity_name)
          and lower(o.schema_name) = lower(coalesce(d.referenced_schema_name, 'dbo'))
          and d.referenced_server_name is null
          and (d.referenced_database_name is null
               or lower(d.referenced_database_name) = (select lower(f.name) from _lab.database_facts f))
          and o.type not in ('PK', 'UQ', 'F ', 'C ', 'D ') limit 1) as referenced_id,
       0 as referenced_minor_id, false as is_caller_dependent, false as is_ambiguous
from _lab.dependencies d
where (select _lab.sees_everything())
   or _lab.allowed(_lab.login_id(), _lab.user_id(), 1, d.referencing_id, 'VIEW DEFINITION');

create view sys.extended_properties as
select p.class::sys."tinyint" as class,
       (case p.class when 0 then 'DATABASE' when 3 then 'SCHEMA' else 'OBJECT_OR_COLUMN' end)::sys."nvarchar(60)"
           as class_desc,
       case p.class when 3 then _lab.public_schema_id(n.nspname, n.oid) else p.major_id end as major_id,
       p.minor_id, p.name::sys."nvarchar(128)" as name, p.value::sys."nvarchar(4000)" as value
from _lab.extended_properties p
left join pg_namespace n on p.class = 3 and n.oid = p.major_id::oid
where p.class <> 1 or (select _lab.sees_everything()) or p.major_id in (select _lab.visible_objects());

-- Features that the lab's tables never have.
create view sys.security_policies as select o.*, true as is_enabled, false as is_not_for_replication
from sys.objects o where o.type = 'SP';
create view sys.security_predicates as
select 0 as object_id, 0 as security_predicate_id, 0 as target_object_id, null::sys."nvarchar(max)" as predicate_definition,
       0 as predicate_type, null::sys."nvarchar(60)" as predicate_type_desc, null::integer as operation,
       null::sys."nvarchar(60)" as operation_desc where false;
create view sys.external_tables as select o.*, 0 as data_source_id from sys.objects o where false;
create view sys.assembly_modules as select 0 as object_id, 0 as assembly_id where false;
create view sys.assemblies as
select null::sys."nvarchar(128)" as name, 0 as principal_id, 0 as assembly_id, null::sys."nvarchar(4000)" as clr_name,
       0::sys."tinyint" as permission_set, null::sys."nvarchar(60)" as permission_set_desc, true as is_visible,
       null::sys."datetime" as create_date, null::sys."datetime" as modify_date, true as is_user_defined where false;
create view sys.server_triggers as
select null::sys."nvarchar(128)" as name, 0 as object_id, 100::sys."tinyint" as parent_class,
       'SERVER'::sys."nvarchar(60)" as parent_class_desc, 0 as parent_id, 'TR'::sys."char(2)" as type,
       'SQL_TRIGGER'::sys."nvarchar(60)" as type_desc, null::sys."datetime" as create_date,
       null::sys."datetime" as modify_date, false as is_ms_shipped, false as is_disabled where false;
-- The options that something here asks for, with the values of a new server.
create view sys.configurations as
select v.id as configuration_id, v.name::sys."nvarchar(128)" as name, v.value, v.minimum, v.maximum,
       v.value as value_in_use, v.name::sys."nvarchar(4000)" as description, true as is_dynamic, v.is_advanced
from (values (400, 'cross db ownership chaining', 0, 0, 1, false), (1562, 'clr enabled', 0, 0, 1, false),
             (16390, 'xp_cmdshell', 0, 0, 1, true)) v(id, name, value, minimum, maximum, is_advanced);

-- SQL Server Agent's tables in msdb: the lab runs no jobs.
create view "msdb.dbo".sysjobs as
select null::uuid as job_id, 0 as originating_server_id, null::sys."nvarchar(128)" as name,
       0::sys."tinyint" as enabled, null::sys."nvarchar(512)" as description, null::sys."varbinary(85)" as owner_sid
where false;
create view "msdb.dbo".sysjobsteps as
select null::uuid as job_id, 0 as step_id, null::sys."nvarchar(128)" as step_name,
       null::sys."nvarchar(40)" as subsystem, null::sys."nvarchar(max)" as command,
       null::sys."nvarchar(128)" as database_name, null::sys."nvarchar(128)" as database_user_name, 0 as proxy_id
where false;
create view sys.periods as
select null::sys."nvarchar(128)" as name, 0::sys."tinyint" as period_type, null::sys."nvarchar(60)" as period_type_desc,
       0 as object_id, 0 as start_column_id, 0 as end_column_id where false;

create view "tempdb.sys".objects as
select r.name::sys."nvarchar(128)" as name, r.object_id, null::integer as principal_id, 1 as schema_id,
       0 as parent_object_id, 'U '::sys."char(2)" as type, 'USER_TABLE'::sys."nvarchar(60)" as type_desc,
       timestamp '2026-01-01'::sys."datetime" as create_date, timestamp '2026-01-01'::sys."datetime" as modify_date,
       false as is_ms_shipped, false as is_published, false as is_schema_published
from _lab.relations r where r.is_temp;
create view "tempdb.sys".tables as select * from "tempdb.sys".objects;
create view "tempdb.sys".columns as
select object_id, name, column_id, system_type_id, user_type_id, max_length, precision, scale, collation_name,
       is_nullable, is_ansi_padded, is_rowguidcol, is_identity, is_computed, default_object_id, is_sparse,
       is_column_set, generated_always_type, is_hidden, is_masked
from _lab.columns where is_temp;
create view "tempdb.sys".types as select * from sys.types;
create view "tempdb.sys".indexes as
select object_id, name, index_id, type, type_desc, is_unique, ignore_dup_key, is_primary_key, is_unique_constraint,
       is_disabled, has_filter, filter_definition
from _lab.shown_indexes where is_temp;
create view "tempdb.sys".index_columns as
select object_id, index_id, index_column_id, column_id, key_ordinal, partition_ordinal, is_descending_key,
       is_included_column
from _lab.index_columns where is_temp;
