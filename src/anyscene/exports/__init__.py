"""Labels in the forms that other tools take: masks, polygons, COCO, Cityscapes, supervision, FiftyOne.

Pure functions over arrays; `Labeling` has a method for each. What needs another library imports it inside.
"""
