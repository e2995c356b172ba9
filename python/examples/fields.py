#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A field with labels (xarray): the mean over time and the running sum of each cell, in memory and in chunks of dask.
The bits do not depend on the chunks."""

import numpy as np
import xarray as xr

import tally
import tally.dask


def over(field, op, dim, verb="reduce", **options):
    """tally.reduce or tally.scan of a DataArray along the dimension `dim`, also of one in chunks."""
    library = tally if field.chunks is None else tally.dask

    def call(x):
        return getattr(library, verb)(x, op, axis=-1, **options)

    return xr.apply_ufunc(
        call,
        field,
        input_core_dims=[[dim]],
        output_core_dims=[[dim] if verb == "scan" else []],
        dask="allowed",  # tally.dask takes dask's arrays as they are
        keep_attrs=True,
    )


def main():
    rng = np.random.default_rng(7)
    days = np.arange("2026-01-01", "2026-12-31", dtype="M8[D]").astype("M8[ns]")
    field = xr.DataArray(
        (rng.integers(-30000, 40000, (len(days), 12, 18)) / 1000).astype("float32"),
        dims=("time", "lat", "lon"),
        coords={"time": days, "lat": np.linspace(-82.5, 82.5, 12), "lon": np.arange(0, 360, 20)},
        name="temperature",
        attrs={"units": "degC"},
    )
    mean = over(field, "mean", "time")
    running = over(field, "sum", "time", verb="scan")
    print("mean over time:", mean.dims, mean.dtype, mean.attrs["units"], tally.digest(mean.values)[:16])
    print("running sum:", running.dims, tally.digest(running.transpose(*field.dims).values)[:16])
    for chunks in ({"time": 30}, {"time": 7, "lat": 5, "lon": 4}, {"lat": 1}):
        parts = field.chunk(chunks)
        same = tally.digest(over(parts, "mean", "time").values) == tally.digest(mean.values)
        same &= tally.digest(over(parts, "sum", "time", "scan").values) == tally.digest(running.values)
        print("the same bits in chunks of", chunks, bool(same))
    assert bool((running.isel(time=-1) == over(field, "sum", "time")).all())


if __name__ == "__main__":
    main()
