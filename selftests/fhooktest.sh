#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The tests of fhook are written for ftrace's runner and use its functions:
# run that on them.

here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../ftrace/ftracetest" -K -v "$here/test.d"
