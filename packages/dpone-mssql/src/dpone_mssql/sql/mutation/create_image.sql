CREATE TABLE {{relation}} (
    {{columns}},
    CONSTRAINT {{constraint}} PRIMARY KEY CLUSTERED ({{key}})
);
