"""The text side of the mouth: what a reply says aloud, and where it may be cut."""
