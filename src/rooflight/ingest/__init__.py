"""Files of measurements and of requests, read row by row; nothing here judges them."""
