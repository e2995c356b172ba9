-- The extension on a server. Results are compared as bits; every query that compares prints the cases and how many
-- are wrong, so that none passes by doing nothing.
CREATE EXTENSION tally;
\set VERBOSITY terse
SET extra_float_digits = 1;

-- 20000 rows whose exponents span 120 binades; x is NULL in one row of 17
CREATE TABLE t AS SELECT i AS id, i % 7 AS g, nullif(i % 17, 0) * 0 + m * power(2::float8, (i * 7919) % 120 - 60) AS x,
    (m % 1000)::float8 AS y FROM (SELECT i, ('x' || substr(md5(i::text), 1, 8))::bit(32)::int AS m
    FROM generate_series(1, 20000) AS i) AS s;
CREATE FUNCTION bits(float8) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT encode(float8send($1), 'hex') $$;
CREATE FUNCTION all_of(rows text) RETURNS TABLE (results text) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT concat_ws('','', bits(exact_sum(x)), bits(exact_avg(x)), bits(exact_dot(x, y)),
        bits(exact_wavg(x, y)), bits(exact_var_pop(x)), bits(exact_var_samp(x)), bits(exact_stddev_pop(x)),
        bits(exact_stddev_samp(x)), bits(exact_covar_pop(x, y)), bits(exact_covar_samp(x, y)), bits(exact_corr(x, y)),
        bits(exact_regr_slope(y, x)), md5(exact_state(x)), bits(exact_sum(x::float4))) FROM %s', rows);
END $$;
CREATE TABLE one AS SELECT results FROM all_of('t');
SELECT array_length(string_to_array(results, ','), 1) AS results FROM one;

-- known values
SELECT exact_sum(v), exact_avg(v), sum(v) AS "the server's" FROM (VALUES (1e100::float8), (1), (-1e100)) AS s (v);
SELECT exact_var_pop(v), exact_var_samp(v), exact_stddev_pop(v), exact_stddev_samp(v)
    FROM (VALUES (100000000::float8), (100000001), (100000002), (100000003), (100000006)) AS s (v);
SELECT exact_dot(a, b), exact_wavg(a, b), exact_covar_pop(a, b), exact_covar_samp(a, b), exact_corr(a, b),
    exact_regr_slope(b, a), regr_slope(b, a) AS "the server's"
    FROM (VALUES (1::float8, 2::float8), (2, 4), (4, 7), (NULL, 9), (9, NULL)) AS s (a, b);
-- as sum(numeric), of numbers that it holds exactly
SELECT count(*) AS groups, count(*) FILTER (WHERE bits(e) <> bits(n)) AS wrong FROM (SELECT exact_sum(k / 1024) AS e,
    sum(k::numeric / 1024)::float8 AS n FROM (SELECT y::float8 * 1023 AS k, g FROM t) AS s GROUP BY g) AS r;
-- nothing, NULL, NaN, infinities
SELECT exact_sum(v), exact_avg(v), exact_var_pop(v), exact_state(v) IS NULL AS state FROM (SELECT 1::float8 AS v WHERE false) AS s;
SELECT exact_sum(v), exact_var_samp(v), exact_corr(v, v) FROM (VALUES (NULL::float8), (NULL)) AS s (v);
SELECT exact_var_samp(v), exact_var_pop(v), exact_corr(v, v), exact_wavg(v, 0) FROM (VALUES (5::float8)) AS s (v);
SELECT exact_sum(v), exact_avg(v), exact_var_pop(v), exact_dot(v, 0) FROM (VALUES ('Infinity'::float8), (1)) AS s (v);
SELECT exact_sum(v), exact_avg(v) FROM (VALUES ('Infinity'::float8), ('-Infinity')) AS s (v);
SELECT exact_sum(v), exact_avg(v), exact_corr(v, v) FROM (VALUES ('NaN'::float8), (1)) AS s (v);
SELECT exact_sum(v), exact_sum(v::float8) FROM (VALUES (16777216::float4), (1), (1e-30)) AS s (v);
SELECT exact_sum(v) FROM (VALUES (1e308::float8), (1e308), (-1e308)) AS s (v);

-- 100 shuffles: one answer; the server's own sum has several
SELECT count(DISTINCT exact) AS exact, count(DISTINCT own) > 1 AS "own differ" FROM (SELECT
    (SELECT results FROM all_of(format('(SELECT * FROM t WHERE id <= 500 ORDER BY md5(id::text || %s)) AS s', k))) AS exact,
    (SELECT sum(x) FROM (SELECT x FROM t WHERE id <= 500 ORDER BY md5(id::text || k)) AS s) AS own
    FROM generate_series(1, 100) AS k) AS r;
-- every plan
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 8;
ALTER TABLE t SET (parallel_workers = 8);
CREATE FUNCTION workers(n int) RETURNS TABLE (workers int, same bool) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', n::text, false);
    workers = 0;
    FOR line IN EXPLAIN SELECT exact_sum(x), exact_corr(x, y) FROM t LOOP
        IF line LIKE '%Workers Planned%' THEN workers = substring(line FROM '\d+'); END IF;
    END LOOP;
    same = (SELECT results FROM all_of('t')) = (SELECT results FROM one);
    RETURN NEXT;
END $$;
SELECT w.* FROM (VALUES (0), (2), (4), (8)) AS n (n), workers(n) AS w;
SET max_parallel_workers_per_gather = 4;
EXPLAIN (COSTS OFF) SELECT exact_sum(x) FROM t;
CREATE TABLE groups AS SELECT g, exact_sum(x) AS s, exact_corr(x, y) AS c, exact_state(x) AS state FROM t GROUP BY g;
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SELECT count(*) AS groups, bool_and(bits(a.s) = bits(b.s) AND bits(a.c) = bits(b.c)) AS same FROM groups AS a JOIN
    (SELECT g, exact_sum(x) AS s, exact_corr(x, y) AS c FROM t GROUP BY g) AS b USING (g);
RESET enable_hashagg;

-- frames of every kind beside the aggregate of the array of the frame's rows
CREATE TABLE f AS SELECT id, id / 3 AS t, (id % 4)::int AS p, CASE id % 23 WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity'
    WHEN 3 THEN 'NaN' ELSE x END AS x, y FROM t WHERE id <= 120 UNION ALL SELECT id, id / 3, 5, x, y FROM t WHERE id BETWEEN 121 AND 240;
CREATE FUNCTION frames(OUT frames int, OUT results int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE unit text; edges text; exclude text; more int; bad int;
BEGIN
    frames = 0; results = 0; wrong = 0;
    FOREACH unit IN ARRAY ARRAY['ROWS', 'RANGE', 'GROUPS'] LOOP
        FOREACH edges IN ARRAY ARRAY['UNBOUNDED PRECEDING AND CURRENT ROW', 'UNBOUNDED PRECEDING AND 2 FOLLOWING',
            '3 PRECEDING AND CURRENT ROW', '5 PRECEDING AND 2 PRECEDING', '1 FOLLOWING AND 4 FOLLOWING',
            'CURRENT ROW AND UNBOUNDED FOLLOWING', '2 PRECEDING AND UNBOUNDED FOLLOWING',
            'UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING', 'CURRENT ROW AND CURRENT ROW'] LOOP
            FOREACH exclude IN ARRAY ARRAY['NO OTHERS', 'CURRENT ROW', 'GROUP', 'TIES'] LOOP
                EXECUTE format('SELECT count(*), count(*) FILTER (WHERE (s, a, v, c, d, m) IS DISTINCT FROM
                    (SELECT (bits(exact_sum(i)), bits(exact_avg(i)), bits(exact_stddev_samp(i)), bits(exact_corr(i, j)),
                    bits(exact_wavg(i, j)), exact_state(i)) FROM unnest(xs, ys) AS u (i, j))::text::record_of)
                    FROM (SELECT bits(exact_sum(x) OVER w) AS s, bits(exact_avg(x) OVER w) AS a,
                    bits(exact_stddev_samp(x) OVER w) AS v, bits(exact_corr(x, y) OVER w) AS c,
                    bits(exact_wavg(x, y) OVER w) AS d, exact_state(x) OVER w AS m, array_agg(x) OVER w AS xs,
                    array_agg(y) OVER w AS ys FROM f WINDOW w AS (PARTITION BY p ORDER BY t %s BETWEEN %s EXCLUDE %s)) AS r',
                    unit, edges, exclude) INTO more, bad;
                frames = frames + 1; results = results + more; wrong = wrong + bad;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CREATE TYPE record_of AS (s text, a text, v text, c text, d text, m bytea);
SELECT * FROM frames();
-- merged states slide too
SELECT count(*) AS days, count(*) FILTER (WHERE bits(exact_value(week)) IS DISTINCT FROM bits(brute)) AS wrong FROM
    (SELECT exact_merge(state) OVER (ORDER BY t ROWS 6 PRECEDING) AS week, (SELECT exact_sum(x) FROM f WHERE f.p = 5 AND
    f.t BETWEEN d.t - 6 AND d.t) AS brute FROM (SELECT t, exact_state(x) AS state FROM f WHERE p = 5 GROUP BY t) AS d) AS r;

-- states: partial sums that go on elsewhere; what is none is an error
SELECT bits(exact_value(exact_merge(state))) = bits((SELECT exact_sum(x) FROM t)) AS same,
    bits(exact_mean(exact_merge(state))) = bits((SELECT exact_avg(x) FROM t)) AS mean,
    exact_merge(state) = (SELECT exact_state(x) FROM t) AS bytes, length(exact_merge(state)) FROM groups;
SELECT exact_value('\x00');
SELECT exact_merge(v) FROM (VALUES ('\x1234'::bytea)) AS s (v);
SELECT exact_value(set_byte(state, 575, 255)) FROM groups LIMIT 1;
SELECT exact_value(set_byte(state, 7, 127)) FROM groups LIMIT 1;
SELECT exact_value(set_byte(state, 551, 64)) FROM groups LIMIT 1;
SELECT exact_value(decode(repeat('ab', 576), 'hex'));
SELECT exact_value(decode(repeat('00', 576), 'hex')) IS NULL AS nothing;
-- 3000 states with one to four wrong bytes: an error or a value, and nothing else
CREATE FUNCTION damaged(OUT refused int, OUT taken int) LANGUAGE plpgsql AS $$
DECLARE s bytea;
BEGIN
    refused = 0; taken = 0;
    FOR k IN 1 .. 3000 LOOP
        s = (SELECT state FROM groups WHERE g = k % 7);
        FOR j IN 0 .. k % 4 LOOP
            s = set_byte(s, (('x' || substr(md5((k * 10 + j)::text), 1, 6))::bit(24)::int) % 576, k % 256);
        END LOOP;
        BEGIN
            PERFORM exact_value(exact_merge(v)), exact_mean(s) FROM (VALUES (s), ((SELECT state FROM groups WHERE g = 0))) AS u (v);
            taken = taken + 1;
        EXCEPTION WHEN invalid_binary_representation THEN
            refused = refused + 1;
        END;
    END LOOP;
END $$;
SELECT refused > 100 AS refused, taken > 100 AS taken, refused + taken AS states FROM damaged();
-- the functions of partial states cannot be called with bytes from outside
SELECT exact_load('\x00000001'::bytea, NULL);

-- what would lose digits is refused
SELECT exact_sum(0.1);
SELECT exact_avg(12345678901234567);
SELECT exact_sum(v::int) FROM generate_series(1, 10) AS v;

-- order E: the rows have an order, or the call is refused
SELECT tally_sum(x ORDER BY id) = tally_sum(x ORDER BY id) AS same, tally_max(y ORDER BY id) = max(y) AS max,
    tally_last(y ORDER BY id), tally_first(y ORDER BY id) FROM t;
SELECT tally_sum(v ORDER BY k), tally_sum(v ORDER BY v), tally_mean(v ORDER BY v) * 3 AS "mean, 3 times"
    FROM (VALUES (1e100::float8, 1), (1, 2), (-1e100, 0)) AS s (v, k);
SELECT tally_mean(v ORDER BY v), tally_var(v ORDER BY v), tally_dot(v, v ORDER BY v) FROM generate_series(1, 700) AS v;
SELECT tally_sum(v ORDER BY v), tally_max(v ORDER BY v), tally_dot(v, w ORDER BY v) FROM (VALUES (NULL::float8, 1::float8), (NULL, 2)) AS s (v, w);
-- every function may run in a worker
SELECT DISTINCT proparallel FROM pg_proc WHERE proname ~ '^(exact|tally)_';
SELECT tally_sum(x) FROM t;
SELECT tally_mean(x) OVER (ORDER BY id) FROM t;

-- a statement is cancelled in the middle, and the server goes on
SET statement_timeout = '200ms';
SELECT exact_sum(v::float8) FROM generate_series(1, 100000000) AS v;
SELECT exact_stddev_samp(a.x) OVER (ORDER BY a.id ROWS 1000 PRECEDING) FROM t AS a, t AS b OFFSET 400000000;
RESET statement_timeout;
SELECT bits(exact_sum(x)) = (SELECT split_part(results, ',', 1) FROM one) AS same FROM t;
-- the planner knows how small a group is: 20000 of them in the default memory, without the disk
CREATE FUNCTION disk(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
        IF line LIKE '%Batches%' THEN RETURN substring(line FROM 'Batches: \d+'); END IF;
    END LOOP;
    RETURN 'no hash table';
END $$;
ANALYZE t;
SET enable_sort = off;
SELECT disk('SELECT id, exact_sum(x) FROM t GROUP BY id');
RESET enable_sort;
-- memory is the aggregate's, streams too: 20 queries of 2000 groups leave nothing behind in this server process
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts $$;
CREATE FUNCTION pages() RETURNS int LANGUAGE sql AS $$ SELECT split_part(pg_read_file('/proc/self/statm', 0, 100), ' ', 2)::int $$;
CREATE FUNCTION often(query text, n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP EXECUTE query; END LOOP; RETURN n; END $$;
\set query 'SELECT exact_corr(x, y), tally_sum(x ORDER BY id) FROM t WHERE id <= 2000 GROUP BY id'
SELECT often(:'query', 2) AS queries;
SELECT memory() AS before, pages() AS pages \gset
SELECT often(:'query', 20) AS queries;
SELECT memory() - :before < 1000000 AS "given back", pages() - :pages < 5000 AS "pages too";
DROP EXTENSION tally CASCADE;
