"""A process that does not stop when asked: it ignores SIGTERM, and so does its child in a process
group of its own, like RQ's work horse.
"""

import os
import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgrp()
while True:
    time.sleep(60)
