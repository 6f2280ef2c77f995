"""Models with a second, larger network; `anyscene.engine.loading` finds them."""
