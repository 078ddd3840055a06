#!/bin/sh
# Measures what delays a fixed piece of work of a millisecond, and what such delays would cost a parallel job on many nodes.
. "$(dirname "$0")/begin.sh"

tare noise --grain 1ms --for 5s --calibrations 2000
