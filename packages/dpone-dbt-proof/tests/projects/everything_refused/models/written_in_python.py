def model(dbt, session):
    """Stands here to be refused."""
    return dbt.ref("is_good")
