#!/bin/bash
# Runs a real `systemd --user` for a second uid in namespaces of its own, on a machine whose PID 1 is something else.
#
#   systemd-user.sh UID HOME_SOURCE HOME
#
# HOME_SOURCE is bound to HOME inside. Prints `ready PID` when the manager answers; PID is the namespaces' init as seen
# from outside, for nsenter. Everything ends when standard input does, however the caller died. Needs root.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  cgroup="$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/memoryd-test-$$"
  mkdir "$cgroup"
  # The pid namespace is gone when unshare ends, but its cgroups empty only a moment later.
  remove() {
    for _ in $(seq 100); do
      find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && return
      sleep 0.05
    done
    echo "cannot remove $cgroup" >&2
  }
  trap remove EXIT
  # A background job would lose standard input without the redirection.
  (
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --mount --pid --fork --kill-child --cgroup --mount-proc -- "$0" --inside "$@"
  ) <&0 &
  init=""
  while [ -z "$init" ]; do
    kill -0 $! 2>/dev/null || exit 1
    init="$(cat "/proc/$!/task/$!/children" 2>/dev/null || true)"
    sleep 0.02
  done
  echo "init ${init% }"
  wait $!
  exit
fi

uid="$2" home_source="$3" home="$4"
runtime="/run/user/$uid"

mount --make-rprivate /
home_fd_source="/proc/self/fd/9"
exec 9<"$home_source"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/{system,unit-root,mount-rootfs,propagate,incoming}
install -d -o "$uid" -g "$uid" -m 700 "$runtime"
sed "/^[^:]*:[^:]*:$uid:/d" /etc/passwd >/run/passwd
printf 'memoryd-test:x:%s:%s::%s:/bin/sh\n' "$uid" "$uid" "$home" >>/run/passwd
mount --bind /run/passwd /etc/passwd
# HOME lies where ProtectHome looks for it.
mount -t tmpfs -o mode=755 tmpfs /home
mkdir -p "$home"
mount --bind "$home_fd_source" "$home"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chown "$uid:$uid" /sys/fs/cgroup /sys/fs/cgroup/cgroup.{procs,subtree_control,threads}

cd /
as_user() {
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --inh-caps=-all \
    env -i HOME="$home" PATH="$PATH" XDG_RUNTIME_DIR="$runtime" DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" "$@"
}
as_user dbus-daemon --session --address="unix:path=$runtime/bus" --nofork --nopidfile </dev/null &
as_user /lib/systemd/systemd --user --log-target=console --log-level=info </dev/null &
for _ in $(seq 200); do
  if as_user systemctl --user is-system-running 2>/dev/null | grep -Eq 'running|degraded'; then
    echo ready
    cat >/dev/null
    exit 0
  fi
  sleep 0.05
done
echo 'systemd --user did not come up' >&2
exit 1
