"""tilesearch: which tiles fit, which rule stops the others, and the nearest tile that fits."""
