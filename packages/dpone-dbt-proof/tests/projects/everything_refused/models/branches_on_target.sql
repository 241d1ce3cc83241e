select at, id from {% if target.name == 'prod' %}raw.sales{% else %}raw.samples{% endif %}
