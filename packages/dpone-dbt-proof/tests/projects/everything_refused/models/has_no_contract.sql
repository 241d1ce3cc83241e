{{ config(contract={'enforced': false}) }}
select at, id from raw.sales
