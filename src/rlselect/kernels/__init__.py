"""Pure functions on arrays. No classes, no random numbers, no scikit-learn."""
