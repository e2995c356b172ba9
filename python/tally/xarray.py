# SPDX-License-Identifier: MIT
"""``x.tally`` for DataArray and Dataset of xarray: the functions of tally as methods.

The functions themselves take these objects without this module.

>>> import numpy, xarray, tally.xarray
>>> x = xarray.DataArray(numpy.arange(6.0).reshape(2, 3), dims=("lat", "time"))
>>> x.tally.rolling(time=2).mean().values.tolist()
[[nan, 0.5, 1.5], [nan, 3.5, 4.5]]
>>> x.tally.sum(dim="time").dims
('lat',)
"""

import xarray

from ._accessor import Accessor

__all__: list[str] = []

xarray.register_dataarray_accessor("tally")(Accessor)
xarray.register_dataset_accessor("tally")(Accessor)
