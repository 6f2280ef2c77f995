"""The hypercolumn: one compact network, run by ONNX Runtime at a ladder of input sizes."""
