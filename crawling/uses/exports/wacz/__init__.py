"""The way of browsers to the WACZ files of runs: who may read one, and on which origin."""
