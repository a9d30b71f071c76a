"""Statistics as things: sketches, labels, column statistics, and the layouts of the files that hold them."""
