"""The way of browsers to the WACZ files of runs: who reads one, and on which origin."""
