/* SPDX-License-Identifier: MIT
 * What CREATE EXTENSION tally makes: doc/sql.md says what each function gives. */
\echo Use "CREATE EXTENSION tally" to load this file. \quit

CREATE FUNCTION exact_merge_rows(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION exact_save(internal) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION exact_load(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION exact_value(state bytea) RETURNS float8
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION exact_mean(state bytea) RETURNS float8
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

DO $make$
DECLARE
    what record;
    names text[] = ARRAY['sum', 'prod', 'mean', 'var', 'std', 'skew', 'kurt', 'sumsq', 'norm', 'min', 'max', 'range',
        'first', 'last', 'drawdown', 'dot', 'wmean', 'cov', 'corr', 'slope', 'wvar', 'wstd', 'atmin', 'atmax'];
BEGIN
    -- transitions and their inverses
    FOR what IN SELECT * FROM (VALUES ('x', 'float8'), ('narrow', 'float4'), ('spread', 'float8'),
        ('product', 'float8, float8'), ('weighted', 'float8, float8'), ('pair', 'float8, float8'),
        ('both', 'float8, float8'), ('slope', 'float8, float8'), ('states', 'bytea'))
        AS t (name, arguments), (VALUES (''), ('_back')) AS u (suffix)
    LOOP
        EXECUTE format('CREATE FUNCTION exact_%s%s(internal, %s) RETURNS internal AS ''MODULE_PATHNAME'' LANGUAGE C
            IMMUTABLE PARALLEL SAFE', what.name, what.suffix, what.arguments);
    END LOOP;
    -- aggregates: with partial states, and with an inverse for frames
    FOR what IN SELECT * FROM (VALUES
        ('sum', 'float8', 'x', 'float8', 'sum'), ('sum', 'float4', 'narrow', 'float4', 'narrow'),
        ('avg', 'float8', 'x', 'float8', 'avg'), ('dot', 'float8, float8', 'product', 'float8', 'dot'),
        ('wavg', 'float8, float8', 'weighted', 'float8', 'wavg'), ('var_pop', 'float8', 'spread', 'float8', 'var_pop'),
        ('var_samp', 'float8', 'spread', 'float8', 'var_samp'),
        ('stddev_pop', 'float8', 'spread', 'float8', 'stddev_pop'),
        ('stddev_samp', 'float8', 'spread', 'float8', 'stddev_samp'),
        ('covar_pop', 'float8, float8', 'pair', 'float8', 'covar_pop'),
        ('covar_samp', 'float8, float8', 'pair', 'float8', 'covar_samp'),
        ('corr', 'float8, float8', 'both', 'float8', 'corr'),
        ('regr_slope', 'float8, float8', 'slope', 'float8', 'regr_slope'),
        ('state', 'float8', 'x', 'bytea', 'state'), ('merge', 'bytea', 'states', 'bytea', 'state'))
        AS t (name, arguments, transition, result, final)
    LOOP
        IF to_regprocedure(format('exact_%s_value(internal)', what.final)) IS NULL THEN
            EXECUTE format('CREATE FUNCTION exact_%s_value(internal) RETURNS %s AS ''MODULE_PATHNAME'' LANGUAGE C
                IMMUTABLE PARALLEL SAFE', what.final, what.result);
        END IF;
        EXECUTE format('CREATE AGGREGATE exact_%1$s(%2$s) (SFUNC = exact_%3$s, STYPE = internal,
            FINALFUNC = exact_%4$s_value, COMBINEFUNC = exact_merge_rows, SERIALFUNC = exact_save,
            DESERIALFUNC = exact_load, MSFUNC = exact_%3$s, MINVFUNC = exact_%3$s_back, MSTYPE = internal,
            MFINALFUNC = exact_%4$s_value, SSPACE = %5$s, PARALLEL = SAFE)', what.name, what.arguments, what.transition,
            what.final, 32 + 160 * CASE what.transition WHEN 'spread' THEN 2 WHEN 'weighted' THEN 2 WHEN 'pair' THEN 3
            WHEN 'slope' THEN 4 WHEN 'both' THEN 5 ELSE 1 END); -- bytes of the sums, for the planner
    END LOOP;
    -- numbers that float8 cannot hold are refused, not rounded in silence
    FOR what IN SELECT * FROM unnest(ARRAY['sum', 'avg', 'var_pop', 'var_samp', 'stddev_pop', 'stddev_samp', 'state'])
        AS t (name), unnest(ARRAY['numeric', 'bigint']) AS u (type)
    LOOP
        IF to_regprocedure(format('exact_refuse(float8, %s)', what.type)) IS NULL THEN
            EXECUTE format('CREATE FUNCTION exact_refuse(float8, %s) RETURNS float8 AS ''MODULE_PATHNAME'' LANGUAGE C
                IMMUTABLE PARALLEL SAFE', what.type);
        END IF;
        EXECUTE format('CREATE AGGREGATE exact_%s(%s) (SFUNC = exact_refuse, STYPE = float8, PARALLEL = SAFE)',
            what.name, what.type);
    END LOOP;
    -- operators of order E, which need ORDER BY inside the parentheses
    CREATE FUNCTION tally_row(internal, float8) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
    CREATE FUNCTION tally_row(internal, float8, float8) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE
        PARALLEL SAFE;
    CREATE FUNCTION tally_result(internal) RETURNS float8 AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
    FOR i IN 1 .. array_length(names, 1) LOOP
        EXECUTE format('CREATE AGGREGATE tally_%s(float8%s) (SFUNC = tally_row, STYPE = internal,
            FINALFUNC = tally_result, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE)', names[i], CASE WHEN i > 15 THEN ', float8' ELSE '' END);
    END LOOP;
END
$make$;
