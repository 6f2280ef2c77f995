"""From what is believed to a label, and a confidence, for each pixel.

Two ways lead there. Without a map in hand, every pixel takes what its leaf believes (`leaves`). With maps of
class scores, these are blended (`blends`), mixed along the frame's outlines (`outlines`) and painted between
cells (`cells`). `show` picks the way for a state; `confidence` says how sure the labels are.
"""
