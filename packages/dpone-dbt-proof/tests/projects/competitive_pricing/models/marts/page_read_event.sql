select
    {{ utc_second('[p].[read at]') }} as observed_at,
    cast([p].[competitor id] as int) as competitor_id,
    cast([p].[page no] as int) as page_no,
    cast([p].[http status] as smallint) as http_status
from {{ source('crawl', 'pages seen') }} as [p]
