#!/bin/sh
# Finds how the time of a program grows with its input: here awk counts to n, and to n for each number up to n.
. "$(dirname "$0")/begin.sh"

echo 'BEGIN { for (i = 0; i < n; i++) sum += i; print sum }' >linear.awk
echo 'BEGIN { for (i = 0; i < n; i++) for (j = 0; j < n; j++) sum += j; print sum }' >quadratic.awk
tare fit 'awk -v n={n} -f linear.awk' -P n 1000 3000000
echo
# As a test: 0 if the class is the only one that agrees, 1 if it does not agree, 6 if others agree, too.
code=0
tare fit --expect 'n^2' 'awk -v n={n} -f quadratic.awk' -P n 30 3000 || code=$?
echo "exit code $code"
