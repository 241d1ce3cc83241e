IF OBJECT_ID({{before_text}}, N'U') IS NULL OR OBJECT_ID({{after_text}}, N'U') IS NULL THROW {{image}}, 3;
IF EXISTS (SELECT 1 FROM {{before}} AS i) OR EXISTS (SELECT 1 FROM {{after}} AS i) THROW {{image}}, 4;
INSERT INTO {{before}} WITH (TABLOCK) ({{columns}})
SELECT {{columns}} FROM {{target}} AS r WHERE {{in_scope}};
SET @image_rows = @@ROWCOUNT;
IF @image_rows <> @target_rows THROW {{image}}, 5;
