#!/bin/sh
# The first process of a guest: mounts what a machine has, makes the checks as root and as an ordinary user, and switches off.
export PATH=/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tracefs tracing /sys/kernel/tracing
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
echo "KERNEL $(uname -r) $(uname -m)"
# Of the kernel's command line.
checks=$(sed -n 's/.*checks=\([a-z]*\).*/\1/p' /proc/cmdline)
truth root $checks 2>&1
su nobody -c "truth user $checks" 2>&1
echo END
poweroff -f
