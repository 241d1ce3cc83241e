DECLARE @content_rows bigint;
DECLARE @content_sha256 varbinary(32);
SELECT @content_rows = COUNT_BIG(*) FROM {{relation}} AS c;
{{digest}}
SELECT @content_rows, @content_sha256;
