"""Tools of the book: text to notebooks, checked prose, the one public address, the course kit."""
