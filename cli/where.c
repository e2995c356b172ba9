/* SPDX-License-Identifier: MIT
 * where.c - which device a run was for, and which parts ran there. The bits are the same
 * everywhere, so they cannot show it. */
#include "cli.h"

#include <string.h>

static int is_gpu(const tally *ctx) { return strchr(tally_isa(ctx), ':') != NULL; }

const char *device_of(const tally *ctx) { return is_gpu(ctx) ? tally_isa(ctx) : "cpu"; }

place ran_since(tally *ctx, const place *start)
{
    tally_times_info t;
    if (tally_times(ctx, &t)) return (place){0, 0};
    return (place){t.launches - (start ? start->launches : 0),
                   t.on_processors - (start ? start->on_processors : 0)};
}

void put_ran(FILE *f, const tally *ctx, const place *r)
{
    if (!is_gpu(ctx))
        fputs("on the processors", f);
    else if (!r->launches)
        fprintf(f, "on the processors; nothing ran on %s", device_of(ctx));
    else
        fprintf(f, "on %s, %lld kernel%s%s", device_of(ctx), (long long)r->launches,
                r->launches == 1 ? "" : "s", r->on_processors ? ", and on the processors" : "");
}

void json_ran(FILE *f, const tally *ctx, const place *r)
{
    fprintf(f, ", \"device\": \"%s\", \"ran_on\": [", device_of(ctx));
    if (r->launches) fprintf(f, "\"%s\"", device_of(ctx));
    if (r->on_processors || !r->launches) fprintf(f, "%s\"cpu\"", r->launches ? ", " : "");
    fputc(']', f);
}

void ran_note(const options *o, const tally *ctx, const char *label, const place *r)
{
    if (is_gpu(ctx) && !r->launches)
        note(o, "%s: nothing ran on %s: the processors computed this, as they do with small pieces",
             label, device_of(ctx));
}
