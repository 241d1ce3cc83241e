select at, id from raw.sales {% if is_incremental() %} where 1 = 0 {% endif %}
