"""`anyscene serve`: labeling over HTTP that keeps deadlines, and a page to try it on.

One process listens and decides (`running`, `service`, `waiting`); worker processes decode, label and encode
(`worker`). The listening process never decodes a picture.
"""
