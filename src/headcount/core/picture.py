"""A matplotlib figure that a notebook shows by itself, whatever its backend and without pyplot."""

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of our own. A notebook asks for its PNG; a program saves it with `savefig`."""

    def _repr_png_(self) -> bytes:
        made = io.BytesIO()
        self.savefig(made, format="png")
        return made.getvalue()
