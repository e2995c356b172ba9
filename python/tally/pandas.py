# SPDX-License-Identifier: MIT
"""``x.tally`` for Series and DataFrame of pandas: the functions of tally as methods.

The functions themselves take these objects without this module.

>>> import pandas, tally.pandas
>>> pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}).tally.mean().tolist()
[1.5, 4.0]
"""

import pandas

from ._accessor import Accessor

__all__: list[str] = []

pandas.api.extensions.register_series_accessor("tally")(Accessor)
pandas.api.extensions.register_dataframe_accessor("tally")(Accessor)
