"""English as people write it and recognisers hear it: numbers, words and sentences. Rules and rows of data."""
