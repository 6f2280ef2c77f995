"""Jobs over millions of images: where they lie, what was done of them, and who labels them."""
