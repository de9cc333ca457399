"""Pure rules of crawling: values in, a decision out. Nothing here knows Django, a clock, chance or the network."""
