"""Labels for the frames of a camera: what was believed of the last frame moves along, and is refined between
frames.

`motion` says where things moved, `memory` keeps what is believed, `looks` runs the network, `policies` decide
when to look and how closely, `stream` puts them together, and `live` and `video` run it by the clock and by
time stamps.
"""
