"""One loss each: the networks it trains, their optimizer and slow copies."""
