{{ config(post_hook="grant select on {{ this }} to public") }}
select at, id from raw.sales
