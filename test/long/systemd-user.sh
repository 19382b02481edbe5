#!/bin/bash
# Runs a real `systemd --user` for a second uid in namespaces of its own, on a machine whose PID 1 is something else.
#
#   systemd-user.sh UID HOME_SOURCE HOME
#
# HOME_SOURCE becomes HOME inside. Prints `init PID`, the namespaces' first process as seen from outside, for nsenter,
# and `ready` when the manager answers. Everything ends when standard input does, however the caller died. Needs root.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  cgroup="$(findmnt --noheadings --types cgroup2 --output TARGET | head -n 1)/memoryd-test-$$"
  mkdir "$cgroup"
  # The processes are gone with the pid namespace, but their cgroups empty only a moment later.
  remove_cgroup() {
    for _ in $(seq 100); do
      find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && return
      sleep 0.05
    done
    echo "cannot remove $cgroup" >&2
  }
  trap remove_cgroup EXIT
  # Without the redirection a background job has no standard input.
  (
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --mount --pid --fork --kill-child --cgroup --mount-proc -- "$0" --inside "$@"
  ) <&0 &
  trap 'kill -KILL $! 2>/dev/null' TERM INT HUP
  init=""
  until [ -n "$init" ]; do
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
# Kept open, because what is mounted below may hide it.
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
mount --bind /proc/self/fd/9 "$home"
exec 9<&-
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chown "$uid:$uid" /sys/fs/cgroup /sys/fs/cgroup/cgroup.{procs,subtree_control,threads}

cd /
as_user() {
  setpriv --reuid="$uid" --regid="$uid" --clear-groups --inh-caps=-all \
    env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR="$runtime" \
    DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" "$@"
}
as_user dbus-daemon --session --address="unix:path=$runtime/bus" --nofork --nopidfile </dev/null &
as_user /lib/systemd/systemd --user --log-target=console </dev/null &
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
