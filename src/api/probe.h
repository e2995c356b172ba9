/* SPDX-License-Identifier: MIT
 * The start-up probe: checks that a device computes the law's bits. */
#ifndef TALLY_PROBE_H
#define TALLY_PROBE_H

#include "context/device.h"

/* Compares S(1) .. S(4096) of the vectors of probe.def, computed by the device, with the law in
 * scalar C. If they differ, returns TALLY_NO_DEVICE, and the sentence names the row and both bit
 * patterns. A pass is recorded in this process and in the folder of compiled programs, under
 * `identity` (the device's name and driver), tally's version and the programs' texts. Devices
 * whose kernels are compiled with the library (calls->text is NULL) pass. */
tally_status tl_probe(tally *ctx, tl_device *device, const char *identity);

#endif
