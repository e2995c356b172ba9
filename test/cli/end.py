# SPDX-License-Identifier: MIT
"""end.py SIGNAL READY COMMAND...: runs COMMAND on an input that goes on, waits until it is at work, sends SIGNAL.

At work: it has taken a million numbers from its standard input, or the file READY is there (-: no such file).
Prints how it ended, as subprocess has it: -2 for SIGINT."""
import array, fcntl, os, signal, subprocess, sys, termios, time

number, ready, command = getattr(signal, "SIG" + sys.argv[1]), sys.argv[2], sys.argv[3:]
for usual in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # a script's background jobs ignore some
    signal.signal(usual, signal.SIG_DFL)
child = subprocess.Popen(command, stdin=subprocess.PIPE, restore_signals=True)
limit = time.time() + 60
if ready == "-":
    child.stdin.write(b"1\n" * 1000000)
    child.stdin.flush()
    left = array.array("i", [1])
    while left[0] and time.time() < limit:
        fcntl.ioctl(child.stdin, termios.FIONREAD, left)
        time.sleep(0.01)
    time.sleep(0.1)
else:
    while not os.path.exists(ready) and child.poll() is None and time.time() < limit:
        time.sleep(0.01)
child.send_signal(number)
print(child.wait(60))
