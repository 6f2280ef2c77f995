"""The policy: least-squares policy iteration over the pool of actions, and who judges it."""
