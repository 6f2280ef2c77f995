"""Learning from labelled scenes: the backbone, weak learners, action proposals, policy iteration."""
