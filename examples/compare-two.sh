#!/bin/sh
# Compares two programs. Beside executions alone, both run at the same time on one CPU (duets), which gives a far more exact ratio.
. "$(dirname "$0")/begin.sh"

tare run -n gzip -n xz 'gzip -6 -k -c numbers.txt' 'xz -0 -k -c numbers.txt'
echo
echo "As a table for a web page or a pull request:"
tare show last --export-markdown -
