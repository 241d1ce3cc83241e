INSERT INTO {{after}} WITH (TABLOCK) ({{columns}})
SELECT {{columns}} FROM {{target}} AS r WHERE {{in_scope}};
SET @image_rows = @@ROWCOUNT;
IF @image_rows <> @result_rows THROW {{image}}, 6;
{{before_digest}}
{{after_digest}}
