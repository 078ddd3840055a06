#!/bin/sh
# Times a program while the machine is quiet: it is paused while its core is busy otherwise, and its CPU time is corrected for what is
# left. Needs root, or CAP_SYS_NICE and a delegated cgroup; else the result says what is missing.
. "$(dirname "$0")/begin.sh"

tare run --quiet -- gzip -6 -k -c numbers.txt
echo
tare machine
