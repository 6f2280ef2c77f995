"""The networks that `anyscene train` starts from; `anyscene.features.hypercolumn.backbone` reads them."""
