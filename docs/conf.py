"""How Sphinx builds these pages: `make docs`."""

from rooflight import __version__

project = "rooflight"
author = "the rooflight developers"
release = __version__
html_title = "rooflight"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
highlight_language = "text"
