"""What labeling costs on this machine: steps, actions and plans, and what fits a deadline."""
