"""Training of the hypercolumn's network; needs torch (extra `train`)."""
