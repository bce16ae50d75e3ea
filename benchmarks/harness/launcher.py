"""Run a command and print what it took. In a small process: a child's memory is counted from its parent's on."""

import json
import os
import sys
import time

start = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - start
scale = 1024 * 1024 if sys.platform == "darwin" else 1024
facts = {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / scale}
sys.stdout.write("\n" + json.dumps(facts) + "\n")
sys.exit(os.waitstatus_to_exitcode(status))
