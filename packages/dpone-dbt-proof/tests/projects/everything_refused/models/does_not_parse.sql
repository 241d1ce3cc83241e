select at, id
from raw.sales
where at = (
