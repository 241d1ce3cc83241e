-- Nobody else mutates this operation, and no cooperating DDL runs, until this transaction ends.
EXEC @lock = sys.sp_getapplock @Resource = {{operation_lock}}, @LockMode = N'Exclusive',
    @LockOwner = N'Transaction', @LockTimeout = 0;
IF @lock IS NULL OR @lock < 0 THROW {{lock}}, 1;
EXEC @lock = sys.sp_getapplock @Resource = N'dpone:ddl-freeze', @LockMode = N'Shared',
    @LockOwner = N'Transaction', @LockTimeout = 0;
IF @lock IS NULL OR @lock < 0 THROW {{lock}}, 2;
-- Every comparison is positive: an absent row or a NULL never passes. The row stays share-locked, so that the
-- database's DDL trigger can't move the epoch either.
IF NOT EXISTS (
    SELECT 1 FROM {{control}}.[ddl_epochs] AS e WITH (REPEATABLEREAD, READCOMMITTEDLOCK)
    WHERE e.[target_object_id] = OBJECT_ID({{target_text}}, N'U') AND e.[epoch] = {{ddl_epoch}}
)
    THROW {{epoch}}, 1;
IF NOT EXISTS (
    SELECT 1 FROM {{control}}.[guards] AS g WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
    WHERE g.[resource_id] = {{guard_resource}} AND g.[workflow_execution_binding_sha256] = {{execution}}
        AND g.[operation_id] = {{operation}} AND g.[operation_plan_sha256] = {{plan}}
        AND g.[attempt_binding_sha256] = {{attempt}} AND g.[fencing_epoch] = {{fencing_epoch}}
        AND g.[owner_id] = {{owner}} AND g.[status] = N'ACTIVE'
)
    THROW {{fence}}, 1;
