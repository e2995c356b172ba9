/* SPDX-License-Identifier: MIT
 * devices.c - tally devices: lists every device of this build, and why one cannot be used. */
#include "cli.h"

#include <string.h>

static void print_json(void)
{
    tally_device_info d;
    fputs("[", stdout);
    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++) {
        fputs(i ? ",\n{\"name\": " : "\n{\"name\": ", stdout);
        print_json_string(stdout, d.name);
        fputs(", \"text\": ", stdout);
        print_json_string(stdout, d.text);
        printf(", \"usable\": %s, \"reason\": ", d.usable ? "true" : "false");
        print_json_string(stdout, d.reason);
        printf(", \"processors\": %d, \"isas\": ", d.processors);
        print_json_string(stdout, d.isas);
        fputs("}", stdout);
    }
    puts("\n]");
}

int run_devices(const options *o)
{
    if (o->nargs)
        return fail(USAGE, "`tally devices` takes no operand, and '%s' is one", o->args[0]);
    if (has(o, OPT_json)) {
        print_json();
        return DONE;
    }
    tally_device_info d;
    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++) {
        printf("%-12s %s\n", d.name, d.text);
        if (!d.usable)
            printf("%-12s not usable: %s\n", "", d.reason);
        else if (d.processors > 0)
            printf("%-12s %d processor%s\n", "", d.processors, d.processors == 1 ? "" : "s");
        if (d.isas && d.isas[0]) printf("%-12s isa: %s (default: the last)\n", "", d.isas);
    }
    return DONE;
}
