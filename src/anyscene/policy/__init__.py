"""Who picks the next action: the decision process, the policies that act in it, plans for known deadlines."""
