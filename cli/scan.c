/* SPDX-License-Identifier: MIT
 * scan.c - tally scan: converts options to tally_scan_options; series.c does the rest. */
#include "cli.h"

int run_scan(const options *o)
{
    const int code = series_begin(o);
    if (code) return code;
    const tally_scan_options scan = {has(o, OPT_exclusive), has(o, OPT_reverse), NULL};
    const series how = {&scan, NULL};
    return series_run(o, &how);
}
