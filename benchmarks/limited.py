"""Run one command under a limit, and print what it cost: a small process between the
measurer and the measured.

Linux hands a new process the peak of resident memory of the one that started it.
A measurer that holds numpy and matplotlib would thus be the smallest peak that it can
see, and this one, of the standard library alone, is not.

    python -m benchmarks.limited SECONDS PROGRAM [ARGUMENT]...

prints one JSON object: {code, seconds, peak_bytes, stopped, errors}. `seconds` is
processor time, user and system, of the command and of the processes that it waited
for.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

_WALL_FACTOR = 3  # a process that waits for ever uses no processor time
_ERRORS_SHOWN = 500


def main() -> None:
    """Run the command in the arguments, and print its cost."""
    limit = int(sys.argv[1])
    stopped = False
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            sys.argv[2:],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            preexec_fn=lambda: _limit_processor_time(limit),
        )
        # A blocked process is killed by the clock; wait4 tells what each one cost.
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(limit * _WALL_FACTOR)
        _, status, usage = os.wait4(process.pid, 0)
        signal.alarm(0)
        process.returncode = os.waitstatus_to_exitcode(status)
        stopped = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        errors.seek(0)
        message = errors.read().decode(errors="replace").strip()[-_ERRORS_SHOWN:]
    cost = {
        "code": process.returncode,
        "seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
        "stopped": stopped,
        "errors": message,
    }
    sys.stdout.write(json.dumps(cost) + "\n")


def _limit_processor_time(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


if __name__ == "__main__":
    main()
