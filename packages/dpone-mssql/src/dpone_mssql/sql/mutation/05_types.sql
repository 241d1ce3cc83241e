-- Exact types, not a successful INSERT: SQL Server rounds, cuts and folds without a word.
IF (SELECT COUNT(*) FROM sys.columns AS c WHERE c.[object_id] = OBJECT_ID({{target_text}}, N'U')) <> {{column_count}}
    THROW {{type}}, 1;
IF (SELECT COUNT(*) FROM sys.columns AS c WHERE c.[object_id] = OBJECT_ID({{temp_text}}, N'U')) <> {{column_count}}
    THROW {{type}}, 2;
IF EXISTS (
    SELECT p.[name], p.[type_name], p.[max_length], p.[precision], p.[scale], p.[is_nullable]
    FROM (VALUES {{planned_columns}}) AS p ([name], [type_name], [max_length], [precision], [scale], [is_nullable])
    EXCEPT
    SELECT c.[name] COLLATE Latin1_General_100_BIN2, t.[name] COLLATE Latin1_General_100_BIN2, c.[max_length],
        c.[precision], c.[scale], c.[is_nullable]
    FROM sys.columns AS c
    INNER JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
    WHERE c.[object_id] = OBJECT_ID({{target_text}}, N'U')
)
    THROW {{type}}, 3;
IF EXISTS (
    SELECT p.[name], p.[type_name], p.[max_length], p.[precision], p.[scale]
    FROM (VALUES {{planned_columns}}) AS p ([name], [type_name], [max_length], [precision], [scale], [is_nullable])
    EXCEPT
    SELECT c.[name] COLLATE Latin1_General_100_BIN2, t.[name] COLLATE Latin1_General_100_BIN2, c.[max_length],
        c.[precision], c.[scale]
    FROM sys.columns AS c
    INNER JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
    WHERE c.[object_id] = OBJECT_ID({{temp_text}}, N'U')
)
    THROW {{type}}, 4;
IF EXISTS (
    SELECT 1
    FROM sys.columns AS s
    INNER JOIN sys.columns AS c ON c.[name] = s.[name] AND c.[object_id] = OBJECT_ID({{target_text}}, N'U')
    WHERE s.[object_id] = OBJECT_ID({{temp_text}}, N'U')
        AND ISNULL(s.[collation_name], N'') <> ISNULL(c.[collation_name], N'')
)
    THROW {{type}}, 5;
