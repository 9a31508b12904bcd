"""Result -> plain dict -> HTML, Markdown, JSON."""
