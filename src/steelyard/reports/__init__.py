"""HTML pages that open from disk, without downloads, and the parts that they share."""
