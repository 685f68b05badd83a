#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The tests of fhook are written for ftrace's runner and use its functions:
# run that on them. Their modules are beside them, where modprobe does not
# look, unless they have been installed: for those, another one comes first.
# With FHOOK_LONG=y in the environment, storms and the like go on for longer.

here=$(cd "$(dirname "$0")" && pwd)
bin=$(mktemp -d) || exit 1
trap 'rm -rf "$bin"' EXIT

cat > "$bin/modprobe" << EOF
#!/bin/sh
ko=$here/modules/\$1.ko
PATH=\${PATH#*:}:/sbin:/usr/sbin
[ -f "\$ko" ] || exec modprobe "\$@"
shift
exec insmod "\$ko" "\$@"
EOF
chmod +x "$bin/modprobe"
# The programs that have probes put into them are here as well.
PATH=$bin:$here:$PATH
export PATH

"$here/../ftrace/ftracetest" -K -v "$here/test.d"
