"""The dashboard: what drifts, what is contested, and why, in a browser (DESIGN 9).

Beside the HTTP API in the same process, asking the same functions. `agents.dashboard.gate.beside` puts it
there; it needs the extra `dashboard`, and says so where that is missing. Nothing of NiceGUI is loaded before.
"""
