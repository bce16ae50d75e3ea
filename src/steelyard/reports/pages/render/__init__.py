"""Write pages as Markdown, HTML and JSON."""
