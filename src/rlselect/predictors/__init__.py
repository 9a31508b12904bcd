"""What a reward is made of."""
