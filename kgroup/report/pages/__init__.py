"""Pages and pictures of groups on one time axis: for a browser, as a still, in an incident report.

May import what `report` may, and not its other packages. Read `page.py` first; `ticks.py`, `labels.py` and
`density.py` are the pure layout, which the page's own script repeats for zooming (`layout.js`).
"""
