"""Explorers: sliders that answer in the static page, in a live notebook and on Colab, one module a chapter.

>>> from scaling_lib.widgets import ch01
>>> ch01.roofline_explorer()  # in a notebook: the explorer; as text: its sentence
TPU v5e, bf16...
"""

from scaling_lib.widgets.display import Display
from scaling_lib.widgets.explorer import Control, Explorer, Readout, Say, Table

__all__ = ["Control", "Display", "Explorer", "Readout", "Say", "Table"]
