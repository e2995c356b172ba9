/* SPDX-License-Identifier: MIT
 * The start-up probe: does this device keep the law? */
#ifndef TALLY_PROBE_H
#define TALLY_PROBE_H
#include "context/device.h"

/* Compares S(1) .. S(4096) of the vectors of probe.def, as the device computes them, with the
 * law in scalar C; a device that differs is TALLY_NO_DEVICE, and the sentence names the row and
 * both bits. What passed is remembered, in this process and in the folder of compiled programs,
 * under `identity` (the device's name and driver), tally's version and the programs' texts.
 * Devices whose kernels are compiled with the library (no calls->law) pass. */
tally_status tl_probe(tally *ctx, tl_device *device, const char *identity);
#endif
