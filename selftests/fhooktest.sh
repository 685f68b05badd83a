#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run fhook's tests with ftrace's runner, whose functions they use. Their modules are
# in a directory next to them, where modprobe does not look unless they are installed:
# a replacement for modprobe comes first in PATH. With FHOOK_LONG=y in the environment,
# stress tests run for longer.

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
