-- Scalar functions that translated T-SQL calls; schema sys exists. Errors carry SQL Server's number as
-- SQLSTATE ZS001 with the message number|severity|state|text, and never a value.

CREATE FUNCTION sys.raise_error(number int4, message text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'ZS001', MESSAGE = format('%s|16|1|%s', number, message);
END $$;

-- Lengths and cuts. unit: 'byte' counts bytes of UTF-8, 'unit' counts UTF-16 code units.

CREATE FUNCTION sys.units(value text) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN octet_length(value) = length(value) THEN length(value)
    ELSE length(value) + length(regexp_replace(value, '[\u0001-\uFFFF]', '', 'g')) END;

CREATE FUNCTION sys.measure(value text, unit text) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE unit WHEN 'byte' THEN octet_length(value) ELSE sys.units(value) END;

CREATE FUNCTION sys.cut(value text, most int4, unit text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    kept text;
BEGIN
    IF octet_length(value) <= most THEN
        RETURN value;
    END IF;
    kept := left(value, most);
    WHILE sys.measure(kept, unit) > most LOOP
        -- Each character too many takes at most four bytes or two units.
        kept := left(kept, length(kept) - greatest((sys.measure(kept, unit) - most) / 4, 1));
    END LOOP;
    RETURN kept;
END $$;

CREATE FUNCTION sys.cut(value bytea, most int4) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN substring(value FROM 1 FOR most);

CREATE FUNCTION sys.cut_number(value text, most int4, is_unicode bool) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF length(value) <= most THEN
        RETURN value;
    END IF;
    IF is_unicode THEN
        PERFORM sys.raise_error(8115, 'Arithmetic overflow error converting expression to data type nvarchar.');
    END IF;
    RETURN '*';
END $$;

CREATE FUNCTION sys.cut_strictly(value text, most int4) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF length(value) > most THEN
        PERFORM sys.raise_error(8115, 'Arithmetic overflow error converting expression to a character data type.');
    END IF;
    RETURN value;
END $$;

-- Text for a column: trailing blanks beyond the length are cut as SQL Server does, anything else is 2628.
CREATE FUNCTION sys.fit(value text, most int4, unit text, column_name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    kept text;
BEGIN
    IF octet_length(value) <= most OR sys.measure(value, unit) <= most THEN
        RETURN value;
    END IF;
    kept := rtrim(value, ' ');
    IF sys.measure(kept, unit) > most THEN
        PERFORM sys.raise_error(2628, format('String or binary data would be truncated in column ''%s''.', column_name));
    END IF;
    RETURN sys.cut(value, most, unit);
END $$;

CREATE FUNCTION sys.fit(value bytea, most int4, unit text, column_name text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF octet_length(value) > most THEN
        PERFORM sys.raise_error(2628, format('String or binary data would be truncated in column ''%s''.', column_name));
    END IF;
    RETURN value;
END $$;

CREATE FUNCTION sys.pad(value text, width int4, unit text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN value || repeat(' ', width - sys.measure(value, unit));

CREATE FUNCTION sys.pad(value bytea, width int4) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN value || decode(repeat('00', width - octet_length(value)), 'hex');

-- Bytes and text.

CREATE FUNCTION sys.utf16le(value text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    digits text := '';
    code int4;
    rest int4;
BEGIN
    IF octet_length(value) = length(value) THEN
        RETURN decode(regexp_replace(encode(convert_to(value, 'UTF8'), 'hex'), '(..)', '\100', 'g'), 'hex');
    END IF;
    FOR place IN 1 .. length(value) LOOP
        code := ascii(substr(value, place, 1));
        IF code < 65536 THEN
            digits := digits || lpad(to_hex(code & 255), 2, '0') || lpad(to_hex(code >> 8), 2, '0');
        ELSE
            rest := code - 65536;
            code := 55296 + (rest >> 10);
            digits := digits || lpad(to_hex(code & 255), 2, '0') || lpad(to_hex(code >> 8), 2, '0');
            code := 56320 + (rest & 1023);
            digits := digits || lpad(to_hex(code & 255), 2, '0') || lpad(to_hex(code >> 8), 2, '0');
        END IF;
    END LOOP;
    RETURN decode(digits, 'hex');
END $$;

CREATE FUNCTION sys.text_of(value bytea, is_unicode bool) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    result text := '';
    place int4 := 0;
    code int4;
    low int4;
BEGIN
    IF NOT is_unicode THEN
        RETURN convert_from(value, 'UTF8');
    END IF;
    WHILE place + 1 < octet_length(value) LOOP
        code := get_byte(value, place) + get_byte(value, place + 1) * 256;
        place := place + 2;
        IF code BETWEEN 55296 AND 56319 AND place + 1 < octet_length(value) THEN
            low := get_byte(value, place) + get_byte(value, place + 1) * 256;
            place := place + 2;
            code := 65536 + ((code - 55296) << 10) + (low - 56320);
        END IF;
        result := result || chr(code);
    END LOOP;
    RETURN result;
END $$;

CREATE FUNCTION sys.bytes_of_hex(value text, style int4, attempt bool) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    digits text := value;
BEGIN
    IF style = 1 THEN
        digits := CASE WHEN value ~ '^0[xX]' THEN substr(value, 3) END;
    END IF;
    IF digits IS NOT NULL AND length(digits) % 2 = 0 AND digits ~ '^[0-9A-Fa-f]*$' THEN
        RETURN decode(digits, 'hex');
    END IF;
    IF NOT attempt THEN
        PERFORM sys.raise_error(8114, 'Error converting data type varchar to varbinary.');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION sys.bytes_of_number(value int8, width int4) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN width <= 8 THEN substring(int8send(value) FROM 9 - width)
    ELSE decode(repeat('00', width - 8), 'hex') || int8send(value) END;

CREATE FUNCTION sys.number_of_bytes(value bytea, width int4) RETURNS int8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    kept bytea := substring(value FROM greatest(octet_length(value) - width, 0) + 1);
    result int8 := 0;
BEGIN
    FOR place IN 0 .. octet_length(kept) - 1 LOOP
        result := (result << 8) | get_byte(kept, place);
    END LOOP;
    IF width < 8 AND width > 1 AND octet_length(kept) = width AND get_byte(kept, 0) >= 128 THEN
        result := result - (1::int8 << (8 * width));
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION sys.hashbytes(algorithm text, value bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE upper(algorithm) WHEN 'SHA2_256' THEN sha256(value) WHEN 'SHA2_512' THEN sha512(value)
    WHEN 'MD5' THEN decode(md5(value), 'hex') END;

-- Text to values.

CREATE FUNCTION sys.integer_of(value text, low int8, high int8, attempt bool, type_name text) RETURNS int8
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bare text := trim(BOTH ' ' FROM value);
    number numeric;
BEGIN
    IF bare = '' THEN
        RETURN 0;
    END IF;
    IF bare !~ '^[-+]?[0-9]+$' THEN
        IF attempt THEN
            RETURN NULL;
        END IF;
        PERFORM sys.raise_error(CASE type_name WHEN 'bigint' THEN 8114 ELSE 245 END,
            CASE type_name WHEN 'bigint' THEN 'Error converting data type varchar to bigint.'
            ELSE format('Conversion failed when converting a character string to data type %s.', type_name) END);
    END IF;
    number := bare::numeric;
    IF number BETWEEN low AND high THEN
        RETURN number::int8;
    END IF;
    IF NOT attempt THEN
        PERFORM sys.raise_error(CASE type_name WHEN 'int' THEN 248 WHEN 'bigint' THEN 8115 ELSE 244 END,
            format('The conversion of a character string overflowed the range of %s.', type_name));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION sys.decimal_of(value text, places int4, fraction int4, attempt bool) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bare text := trim(BOTH ' ' FROM value);
    number numeric;
BEGIN
    IF bare !~ '^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)$' THEN
        IF NOT attempt THEN
            PERFORM sys.raise_error(8114, 'Error converting data type varchar to numeric.');
        END IF;
        RETURN NULL;
    END IF;
    number := round(bare::numeric, fraction);
    IF abs(number) >= power(10::numeric, places - fraction) THEN
        IF NOT attempt THEN
            PERFORM sys.raise_error(8115, 'Arithmetic overflow error converting varchar to data type numeric.');
        END IF;
        RETURN NULL;
    END IF;
    RETURN number;
END $$;

CREATE FUNCTION sys.float_of(value text, attempt bool) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bare text := trim(BOTH ' ' FROM value);
BEGIN
    IF bare = '' THEN
        RETURN 0;
    END IF;
    IF bare ~ '^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$' THEN
        RETURN bare::float8;
    END IF;
    IF NOT attempt THEN
        PERFORM sys.raise_error(8114, 'Error converting data type varchar to float.');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION sys.bit_of(value text, attempt bool) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bare text := lower(trim(BOTH ' ' FROM value));
BEGIN
    IF bare IN ('true', 'false') THEN
        RETURN bare = 'true';
    END IF;
    IF bare ~ '^[-+]?[0-9]*$' THEN
        RETURN bare ~ '[1-9]';
    END IF;
    IF NOT attempt THEN
        PERFORM sys.raise_error(245, 'Conversion failed when converting a character string to data type bit.');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION sys.guid_of(value text, attempt bool) RETURNS uuid LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    found text := substring(value FROM '^\{?([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})');
BEGIN
    IF found IS NULL AND NOT attempt THEN
        PERFORM sys.raise_error(8169, 'Conversion failed when converting from a character string to uniqueidentifier.');
    END IF;
    RETURN found::uuid;
END $$;

-- ISO forms only: yyyy-mm-dd, yyyymmdd, each with an optional time after a blank or T.
CREATE FUNCTION sys.timestamp_of(value text, attempt bool) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    part text[] := regexp_match(trim(BOTH ' ' FROM value),
        '^(\d{4})(-?)(\d\d)\2(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(\.\d{1,7})?)?Z?)?$');
    bare text := trim(BOTH ' ' FROM value);
BEGIN
    IF bare = '' THEN
        RETURN timestamp '1900-01-01';
    END IF;
    IF bare ~ '^\d\d:\d\d(:\d\d(\.\d{1,7})?)?$' THEN
        RETURN timestamp '1900-01-01' + sys.time_of(bare, attempt);
    END IF;
    IF part IS NULL OR NOT (part[1]::int4 > 0 AND part[3]::int4 BETWEEN 1 AND 12
        AND part[4]::int4 BETWEEN 1 AND extract(day FROM make_date(part[1]::int4, part[3]::int4, 1) + interval '1 month - 1 day')
        AND coalesce(part[5]::int4, 0) < 24 AND coalesce(part[6]::int4, 0) < 60 AND coalesce(part[7]::int4, 0) < 60) THEN
        IF NOT attempt THEN
            PERFORM sys.raise_error(241, 'Conversion failed when converting date and/or time from character string.');
        END IF;
        RETURN NULL;
    END IF;
    RETURN make_timestamp(part[1]::int4, part[3]::int4, part[4]::int4, coalesce(part[5]::int4, 0),
        coalesce(part[6]::int4, 0), coalesce(part[7]::float8, 0))
        + round(coalesce(part[8], '0')::numeric * 1000000) * interval '1 microsecond';
END $$;

CREATE FUNCTION sys.time_of(value text, attempt bool) RETURNS time LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    part text[] := regexp_match(trim(BOTH ' ' FROM value), '(?:^|[ T])(\d\d):(\d\d)(?::(\d\d)(\.\d{1,7})?)?$');
BEGIN
    IF part IS NULL OR part[1]::int4 > 23 OR part[2]::int4 > 59 OR coalesce(part[3]::int4, 0) > 59 THEN
        IF NOT attempt THEN
            PERFORM sys.raise_error(241, 'Conversion failed when converting date and/or time from character string.');
        END IF;
        RETURN NULL;
    END IF;
    RETURN make_time(part[1]::int4, part[2]::int4, coalesce(part[3]::float8, 0))
        + round(coalesce(part[4], '0')::numeric * 1000000) * interval '1 microsecond';
END $$;

-- datetime ticks in 1/300 of a second: the third digit of the fraction is 0, 3 or 7.
CREATE FUNCTION sys.datetime_of(value timestamp) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN date_trunc('second', value) + round(round((extract(second FROM value) - trunc(extract(second FROM value))) * 300)
    * 1000 / 300) * interval '1 millisecond';

CREATE FUNCTION sys.tinyint_of(value numeric) RETURNS int2 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF value NOT BETWEEN 0 AND 255 THEN
        PERFORM sys.raise_error(220, 'Arithmetic overflow error for data type tinyint.');
    END IF;
    RETURN value::int2;
END $$;

-- Numbers.

-- Decimal division cuts at the scale of the result; it doesn't round.
CREATE FUNCTION sys.divide(dividend numeric, divisor numeric, fraction int4) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN div(dividend * power(10::numeric, fraction), divisor) / power(10::numeric, fraction);

-- Dates.

CREATE FUNCTION sys.date_number(part text, value timestamp) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE part
    WHEN 'year' THEN extract(year FROM value)::int8
    WHEN 'quarter' THEN extract(year FROM value)::int8 * 4 + extract(quarter FROM value)::int8
    WHEN 'month' THEN extract(year FROM value)::int8 * 12 + extract(month FROM value)::int8
    WHEN 'week' THEN floor((value::date - date '1900-01-07') / 7.0)::int8
    WHEN 'day' THEN (value::date - date '1900-01-01')::int8
    WHEN 'dayofyear' THEN (value::date - date '1900-01-01')::int8
    WHEN 'hour' THEN floor(extract(epoch FROM value) / 3600)::int8
    WHEN 'minute' THEN floor(extract(epoch FROM value) / 60)::int8
    WHEN 'second' THEN floor(extract(epoch FROM value))::int8
    WHEN 'millisecond' THEN floor(extract(epoch FROM value) * 1000)::int8
    WHEN 'microsecond' THEN (extract(epoch FROM value) * 1000000)::int8
    WHEN 'nanosecond' THEN (extract(epoch FROM value) * 1000000)::int8 * 1000 END;

-- DATEDIFF counts the boundaries between two moments; weeks begin on Sunday.
CREATE FUNCTION sys.datediff(part text, start timestamp, finish timestamp) RETURNS int8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sys.date_number(part, finish) - sys.date_number(part, start);

CREATE FUNCTION sys.dateadd(part text, number int8, value timestamp) RETURNS timestamp
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN value + CASE part
    WHEN 'year' THEN make_interval(years => number::int4)
    WHEN 'quarter' THEN make_interval(months => number::int4 * 3)
    WHEN 'month' THEN make_interval(months => number::int4)
    WHEN 'week' THEN make_interval(days => number::int4 * 7)
    WHEN 'day' THEN make_interval(days => number::int4)
    WHEN 'dayofyear' THEN make_interval(days => number::int4)
    WHEN 'hour' THEN number * interval '1 hour'
    WHEN 'minute' THEN number * interval '1 minute'
    WHEN 'second' THEN number * interval '1 second'
    WHEN 'millisecond' THEN number * interval '1 millisecond'
    WHEN 'microsecond' THEN number * interval '1 microsecond' END;

CREATE FUNCTION sys.datepart(part text, value timestamp) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE part
    WHEN 'year' THEN extract(year FROM value)::int4
    WHEN 'quarter' THEN extract(quarter FROM value)::int4
    WHEN 'month' THEN extract(month FROM value)::int4
    WHEN 'dayofyear' THEN extract(doy FROM value)::int4
    WHEN 'day' THEN extract(day FROM value)::int4
    WHEN 'week' THEN (sys.date_number('week', value) - sys.date_number('week', date_trunc('year', value)))::int4 + 1
    WHEN 'hour' THEN extract(hour FROM value)::int4
    WHEN 'minute' THEN extract(minute FROM value)::int4
    WHEN 'second' THEN trunc(extract(second FROM value))::int4
    WHEN 'millisecond' THEN trunc(extract(millisecond FROM value))::int4 % 1000
    WHEN 'microsecond' THEN extract(microsecond FROM value)::int4 % 1000000
    WHEN 'nanosecond' THEN extract(microsecond FROM value)::int4 % 1000000 * 1000 END;

-- Text.

CREATE FUNCTION sys.stuff(value text, start int4, number int4, replacement text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN start <= 0 OR number < 0 OR start > length(value) THEN NULL
    ELSE left(value, start - 1) || coalesce(replacement, '') || substr(value, start + number) END;

CREATE FUNCTION sys.substring(value text, start int4, number int4) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF number < 0 THEN
        PERFORM sys.raise_error(537, 'Invalid length parameter passed to the SUBSTRING function.');
    END IF;
    RETURN substr(value, start, number);
END $$;

CREATE FUNCTION sys.substring(value bytea, start int4, number int4) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF number < 0 THEN
        PERFORM sys.raise_error(537, 'Invalid length parameter passed to the SUBSTRING function.');
    END IF;
    RETURN substr(value, start, number);
END $$;

CREATE FUNCTION sys.leftmost(value text, number int4) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF number < 0 THEN
        PERFORM sys.raise_error(536, 'Invalid length parameter passed to the LEFT function.');
    END IF;
    RETURN left(value, number);
END $$;

CREATE FUNCTION sys.rightmost(value text, number int4) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF number < 0 THEN
        PERFORM sys.raise_error(536, 'Invalid length parameter passed to the RIGHT function.');
    END IF;
    RETURN CASE number WHEN 0 THEN '' ELSE right(value, number) END;
END $$;

CREATE FUNCTION sys.charindex(sought text, value text, start int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN sought = '' OR strpos(substr(value, greatest(start, 1)), sought) = 0 THEN 0
    ELSE strpos(substr(value, greatest(start, 1)), sought) + greatest(start, 1) - 1 END;

CREATE FUNCTION sys.quotename(value text, mark text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN length(value) > 128 THEN NULL
    WHEN mark IN ('[', ']') THEN '[' || replace(value, ']', ']]') || ']'
    WHEN mark IN ('"', '''', '`') THEN mark || replace(value, mark, mark || mark) || mark
    WHEN mark IN ('(', ')') THEN '(' || replace(value, ')', '))') || ')'
    WHEN mark IN ('<', '>') THEN '<' || replace(value, '>', '>>') || '>'
    WHEN mark IN ('{', '}') THEN '{' || replace(value, '}', '}}') || '}' END;

CREATE FUNCTION sys.parsename(value text, part int4) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT (array_agg(coalesce(replace(m[1], ']]', ']'), replace(m[2], '""', '"'), m[3]) ORDER BY place DESC))[part]
    FROM regexp_matches(value, '\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\[\]"]+)', 'g')
    WITH ORDINALITY AS r(m, place));

-- STRING_AGG over text that isn't (max) may give 8000 bytes at most.
CREATE FUNCTION sys.fit_aggregate(value text, is_unicode bool) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF (CASE WHEN is_unicode THEN 2 * sys.units(value) ELSE octet_length(value) END) > 8000 THEN
        PERFORM sys.raise_error(9829,
            'STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.');
    END IF;
    RETURN value;
END $$;

-- A LIKE pattern that isn't a constant: wildcards as they are; sets would need a regular expression.
CREATE FUNCTION sys.like_pattern(pattern text, escape text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF strpos(pattern, '[') > 0 OR escape <> '' THEN
        PERFORM sys.raise_error(40517,
            'Keyword or statement option ''LIKE with a computed set or ESCAPE'' is not supported in this version of SQL Server.');
    END IF;
    RETURN pattern;
END $$;

CREATE FUNCTION sys.date_from_parts(years int4, months int4, days int4) RETURNS date
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF years BETWEEN 1 AND 9999 AND months BETWEEN 1 AND 12 AND days BETWEEN 1 AND 31 THEN
        BEGIN
            RETURN make_date(years, months, days);
        EXCEPTION WHEN datetime_field_overflow THEN
            NULL;
        END;
    END IF;
    PERFORM sys.raise_error(289, 'Cannot construct data type date, some of the arguments have values which are not valid.');
END $$;

CREATE FUNCTION sys.datetime2_from_parts(years int4, months int4, days int4, hours int4, minutes int4, seconds int4,
    fractions int4, scale int4) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF hours BETWEEN 0 AND 23 AND minutes BETWEEN 0 AND 59 AND seconds BETWEEN 0 AND 59
        AND fractions >= 0 AND fractions < power(10, scale) THEN
        RETURN sys.date_from_parts(years, months, days) + make_time(hours, minutes, seconds)
            + trunc(fractions * power(10::numeric, 6 - scale)) * interval '1 microsecond';
    END IF;
    PERFORM sys.raise_error(289, 'Cannot construct data type datetime2, some of the arguments have values which are not valid.');
END $$;

-- The last identity value of the session, NULL before the first.
CREATE FUNCTION sys.scope_identity() RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN lastval();
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN NULL;
END $$;
