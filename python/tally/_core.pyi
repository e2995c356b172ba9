# SPDX-License-Identifier: MIT
# The extension: its functions take their arguments by place, and only this package calls them.
from typing import Any

def __getattr__(name: str) -> Any: ...
