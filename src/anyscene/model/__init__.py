"""The dynamic hierarchical model: state, actions, beliefs, loss, policies, and the model file."""
