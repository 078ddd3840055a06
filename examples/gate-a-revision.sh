#!/bin/sh
# Asks whether the last commit made a program slower. Both revisions run at the same time on this machine until the answer is known; the
# exit code is for continuous integration: 0 pass, 5 slower. Here the second commit does a tenth more work.
. "$(dirname "$0")/begin.sh"
. "$(dirname "$started")/repository.sh"

version 1000000 "First version"
version 1100000 "Count further"
code=0
tare gate --base HEAD~1 --budget 1min ./prog || code=$?
echo
echo "exit code $code"
# In this example, a regression is what is to be found.
[ "$code" -eq 5 ]
