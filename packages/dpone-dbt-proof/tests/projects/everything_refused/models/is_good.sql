
  select at, id
from raw.sales
