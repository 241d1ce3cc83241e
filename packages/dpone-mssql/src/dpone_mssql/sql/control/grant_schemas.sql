-- The runtime creates image relations and nothing else; it sees definitions, or absence would prove nothing.
GRANT CREATE TABLE TO {{runtime}};
GO
GRANT ALTER, SELECT, INSERT ON SCHEMA::{{images}} TO {{runtime}};
GO
GRANT SELECT ON {{control}}.[store] TO {{runtime}};
GO
GRANT VIEW DEFINITION TO {{runtime}};
GO
DENY ALTER ON SCHEMA::{{control}} TO {{runtime}};
GO
