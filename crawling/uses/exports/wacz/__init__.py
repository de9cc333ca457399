"""Access of browsers to the WACZ files of runs: who may read a file, and on which origin."""
