"""The dynamic hierarchical model: state, actions and their transitions, loss, and what actions cost."""
