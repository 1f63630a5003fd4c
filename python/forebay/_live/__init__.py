"""The live page of a loader. It is loaded when the first page is shown.

Open first: `page.py`, what `loader.show()` returns. `server.py` speaks HTTP, `samples.py` shows the
current batch, and `study.py` runs the studies that are started from the page. The document and its
figures come from the engine (src/page, src/study/report/live_view.h).
"""

from .page import LivePage, show_if_asked

__all__ = ["LivePage", "show_if_asked"]
