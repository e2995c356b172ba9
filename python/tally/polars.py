# SPDX-License-Identifier: MIT
"""``x.tally`` for Series and DataFrame of polars: the functions of tally as methods.

The functions themselves take these objects without this module.

>>> import polars, tally.polars
>>> polars.Series("a", [1.0, 2.0, 4.0]).tally.rolling(2).sum().to_list()
[nan, 3.0, 6.0]
"""

import polars

from ._accessor import Accessor

__all__: list[str] = []

polars.api.register_series_namespace("tally")(Accessor)
polars.api.register_dataframe_namespace("tally")(Accessor)
