"""Proposals of actions: sequences on all images and on clusters of them, and the pool that they make."""
