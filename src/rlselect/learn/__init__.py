"""The learning core shared by the rooms: masks, rewards and costs, never X and y."""
