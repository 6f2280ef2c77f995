"""The paper's fitted baselines, F-SM, DCRF, HIM and H-DCRF: each learns from labeled images."""
