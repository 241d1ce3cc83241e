from typing import Any


def model(dbt: Any, session: Any) -> Any:
    """Stands here to be refused."""
    return dbt.ref("is_good")
