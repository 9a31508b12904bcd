"""At this moment: temporal process regression, its bands and tests, and tests of repeated measures."""
