select observed_at from {{ ref('competitor_price_event') }} where price <= 0
