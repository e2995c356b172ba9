/* SPDX-License-Identifier: MIT
 * Every figure of a report as JSON. diff.c reads it back. */
#include "rung.h"
#include <math.h>

void json_text(FILE *f, const char *name, const char *value, const char *end)
{
    fprintf(f, "\"%s\": \"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') fputc('\\', f);
        if ((unsigned char)*value >= 0x20) fputc(*value, f);
    }
    fprintf(f, "\"%s", end);
}

/* JSON has no inf and no nan. */
static void number(FILE *f, const char *name, double value, const char *end)
{
    if (isfinite(value))
        fprintf(f, "\"%s\": %.9g%s", name, value, end);
    else
        fprintf(f, "\"%s\": null%s", name, end);
}

static void counts(FILE *f, const model_counts *c)
{
#define FIELD_(name) fprintf(f, "\"%s\": %lld, ", #name, (long long)c->name)
    fprintf(f, "      \"model\": {");
    FIELD_(launches), FIELD_(groups), FIELD_(watched), FIELD_(barriers), FIELD_(branches),
        FIELD_(divergent);
    FIELD_(operations), FIELD_(lanes), FIELD_(shared), FIELD_(conflicts), FIELD_(requests),
        FIELD_(sectors);
    FIELD_(bytes_read), FIELD_(bytes_written), FIELD_(races), FIELD_(worst_degree),
        FIELD_(worst_line);
#undef FIELD_
    fprintf(f, "\"worst_bank\": [");
    for (int l = 0; l < c->warp && c->worst_degree; l++)
        fprintf(f, "%s%d", l ? ", " : "", c->worst_bank[l]);
    fprintf(f, "],\n        \"steps\": [");
    for (int i = 0; i < c->steps; i++) {
        const model_step *s = &c->step[i];
        fprintf(f,
                "%s\n          {\"threads\": %d, \"warps\": %d, \"divergent_warps\": %d, "
                "\"bank_degree\": %d, \"shared\": %lld, \"conflicts\": %lld, \"requests\": %lld, "
                "\"sectors\": %lld, \"bytes\": %lld, \"races\": %d, \"line\": %d}",
                i ? "," : "", s->threads, s->warps, s->divergent, s->shared_degree,
                (long long)s->shared, (long long)s->conflicts, (long long)s->requests,
                (long long)s->sectors, (long long)s->bytes, s->races, s->line);
    }
    fprintf(f, "]}");
}

static void one(FILE *f, const row *x)
{
    fprintf(f, "    {");
    json_text(f, "rung", x->rung->name, ", ");
    json_text(f, "after", x->rung->after, ", ");
    json_text(f, "verdict", verdict_word(x), ", ");
    json_text(f, "reason", x->reason, ", ");
    json_text(f, "got", x->got, ", ");
    json_text(f, "want", x->want, ", ");
    number(f, "error_ulp", x->error_ulp < 0 ? NAN : x->error_ulp, ", ");
    fprintf(f, "\"checked\": %lld, \"off\": %lld, \"counted_n\": %lld, ", (long long)x->checked,
            (long long)x->off, (long long)x->counted_n);
    if (x->trials) fprintf(f, "\"trials\": %d, \"trials_wrong\": %d, ", x->trials, x->trials_wrong);
    fprintf(f, "\"by_bits\": %s, \"on_host\": %s, \"launches\": %lld, \"clears\": %lld,\n      ",
            x->bits ? "true" : "false", x->on_host ? "true" : "false", (long long)x->launches,
            (long long)x->clears);
    json_text(f, "sentence", x->sentence, "");
    if (x->timed) {
        const timing *t = &x->timing;
        fprintf(f, ",\n      \"time\": {\"runs\": %d, ", t->runs);
        number(f, "median", t->median, ", "), number(f, "low", t->low, ", "),
            number(f, "high", t->high, ", ");
        number(f, "copy_in", t->copy_in, ", "), number(f, "copy_out", t->copy_out, ", ");
        number(f, "fold", t->fold, ", ");
        fprintf(f, "\"launches\": %lld, \"uncertain\": %s, ", (long long)t->launches,
                uncertain(t) ? "true" : "false");
        fprintf(f, "\"bytes\": %lld, ", (long long)t->bytes);
        number(f, "bytes_a_second", (double)t->bytes / t->median, "}");
    }
    if (past_milliseconds(x->rung) > 0) {
        fprintf(f, ",\n      ");
        number(f, "milliseconds_2010", past_milliseconds(x->rung), "");
    }
    if (x->modelled) {
        fprintf(f, ",\n");
        counts(f, &x->counts);
    }
    fprintf(f, "}");
}

void report_json(const report *r, FILE *f)
{
    static const char *const operations[] = {"sum", "min", "max"};
    fprintf(f, "{\"ladder\": 1, ");
    json_text(f, "device", r->device, ", ");
    json_text(f, "device_text", r->device_text, ", ");
    json_text(f, "machine", r->machine, ", ");
    json_text(f, "version", tally_version(), ", ");
    json_text(f, "operation", operations[r->operation], ", ");
    fprintf(f, "\"warp\": %d, \"banks\": %d, \"threads\": %d, \"wrong\": %d, \"shapes\": [",
            r->warp, r->banks, r->threads, r->wrong);
    for (int i = 0; i < r->shape_count; i++) {
        const shape_report *s = &r->shapes[i];
        fprintf(f, "%s\n  {", i ? "," : "");
        json_text(f, "shape", shape_name(s->shape), ", ");
        json_text(f, "dtype", kind_name(s->kind), ", ");
        fprintf(f, "\"n\": %lld, \"width\": %lld, \"ceilings\": {", (long long)s->n,
                s->shape == SHAPE_window ? (long long)s->width : 0LL);
        number(f, "device_read", s->device.read, ", "),
            number(f, "device_copy", s->device.copy, ", ");
        number(f, "host_read", s->host.read, ", "),
            number(f, "host_copy", s->host.copy, "}, \"rungs\": [\n");
        for (int k = 0; k < s->count; k++) {
            if (k) fprintf(f, ",\n");
            one(f, &s->rows[k]);
        }
        fprintf(f, "],\n    \"sweep\": [");
        for (int k = 0; k < s->sweep_count; k++) {
            fprintf(f, "%s\n      {\"n\": %lld, \"bytes_a_second\": {", k ? "," : "",
                    (long long)s->sweep[k].n);
            for (int x = 0, first = 1; x < s->count; x++)
                if (s->sweep[k].rate[x] > 0) {
                    fprintf(f, "%s", first ? "" : ", ");
                    number(f, s->rows[x].rung->name, s->sweep[k].rate[x], "");
                    first = 0;
                }
            fprintf(f, "}}");
        }
        fprintf(f, "]}");
    }
    fprintf(f, "]}\n");
}
