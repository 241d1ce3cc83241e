select at, id
from raw.sales
{% if true %}
