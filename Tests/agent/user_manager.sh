#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A systemd --user in namespaces of its own starts the agent when an app opens, and stops it; then it gives programs
# that a launcher starts scopes of their own. Ends with 77 if no user manager can run here, with the reason in the last
# line; prints "all of it" if everything was as it should be.
#
#     user_manager.sh FOLDER PARTICIPANT PROBE
#
# FOLDER has units/; PARTICIPANT is Tests/runtime/participant.c, PROBE is Tests/agent/LauncherProbe.
folder=$1 participant=$2 probe=$3
skip() { echo "$1"; exit 77; }
fail() { echo "FAILED: $1"; journal; exit 1; }
journal() { cat "$folder/manager.log"; }

[ "$(id -u)" -eq 0 ] || skip "it takes root to make namespaces with cgroups"
[ -x /lib/systemd/systemd ] || skip "there is no systemd"

if [ -z "$INSIDE" ]; then
  group=segue-test-$$
  for hierarchy in systemd unified; do
    mkdir -p /sys/fs/cgroup/$hierarchy/$group 2>/dev/null &&
      echo $$ >/sys/fs/cgroup/$hierarchy/$group/cgroup.procs 2>/dev/null || skip "cgroups cannot be made here"
  done
  INSIDE=1 unshare -mC --propagation private bash "$0" "$folder" "$participant" "$probe"
  status=$?
  for hierarchy in systemd unified; do
    echo $$ >/sys/fs/cgroup/$hierarchy/cgroup.procs
    find /sys/fs/cgroup/$hierarchy/$group -depth -type d -exec rmdir {} \; 2>/dev/null
  done
  exit $status
fi

{
  mount -t tmpfs none /run && mkdir -p /run/systemd/system /run/user/0 && chmod 700 /run/user/0 &&
    umount -l /sys/fs/cgroup && mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/{systemd,unified} &&
    mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd &&
    mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
} 2>/dev/null || skip "namespaces cannot be made here"

unset SEGUE_RUNTIME_DIR SEGUE_STATE_DIR DBUS_SESSION_BUS_ADDRESS
export XDG_RUNTIME_DIR=/run/user/0 XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state HOME=$folder
mkdir -p "$XDG_CONFIG_HOME/systemd/user"
cp "$folder"/units/* "$XDG_CONFIG_HOME/systemd/user/"
# The session's bus as dbus-user-session has it, and an agent of which nothing but the launcher is left.
cat >"$XDG_CONFIG_HOME/systemd/user/dbus.socket" <<END
[Socket]
ListenStream=%t/bus
END
cat >"$XDG_CONFIG_HOME/systemd/user/dbus.service" <<END
[Unit]
Requires=dbus.socket
[Service]
Type=notify
ExecStart=dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation
END
cat >"$XDG_CONFIG_HOME/systemd/user/probe.service" <<END
[Service]
ExecStart=$probe --free
Environment=XDG_DATA_HOME=$folder/data XDG_DATA_DIRS=/nonexistent
StandardInput=file:$folder/asked
StandardOutput=append:$folder/answered
END
/lib/systemd/systemd --user >"$folder/manager.log" 2>&1 &
manager=$!
trap 'kill $manager $app 2>/dev/null; wait $manager' EXIT

# Waits for what nobody tells of, for 20 s.
wait_for() {
  for _ in $(seq 400); do
    "$@" >/dev/null 2>&1 && return 0
    kill -0 $manager 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}
wait_for systemctl --user is-active basic.target || skip "the user manager does not come up"

systemctl --user enable --now segue-agent.socket 2>/dev/null || fail "the socket cannot be enabled"
[ -S /run/user/0/segue/agent ] || fail "there is no activation socket"
[ "$(stat -c %a /run/user/0/segue)" = 700 ] || fail "others can enter the runtime folder"
systemctl --user is-active segue-agent.service >/dev/null && fail "the agent runs before anyone has rung"

mkfifo "$folder/input"
"$participant" com.example.app --team T --type com.example.editing <"$folder/input" >"$folder/said" &
app=$!
exec 9>"$folder/input"
wait_for systemctl --user is-active segue-agent.service || fail "the agent does not start when an app opens"
systemctl --user status segue-agent.service | grep -q "carries the hub of generation" || fail "its state is not told"
agent_has_app() { echo describe >&9 && grep -q "hub: generation .* agent" "$folder/said"; }
wait_for agent_has_app || fail "the app is not at the agent's hub"

systemctl --user stop segue-agent.service || fail "the agent cannot be stopped"
[ "$(systemctl --user show -p Result --value segue-agent.service)" = success ] || fail "it did not end in order"
[ -S /run/user/0/segue/agent ] || fail "the activation socket went with the agent"
kill -0 $app || fail "the app went with the agent"

systemctl --user start segue-agent.service || fail "the agent cannot be started by hand"
first=$(systemctl --user show -p MainPID --value segue-agent.service)
kill -9 "$first"
agent_is_new() {
  local now
  now=$(systemctl --user show -p MainPID --value segue-agent.service)
  [ "$now" != 0 ] && [ "$now" != "$first" ] && systemctl --user is-active segue-agent.service
}
wait_for agent_is_new || fail "the agent is not started again after it was killed"

exec 9>&-
wait $app || fail "the app did not end in order"

# Scopes of programs.
mkdir -p "$folder/data/applications"
cat >"$folder/data/applications/org.example.my-editor.desktop" <<END
[Desktop Entry]
Type=Application
Name=An editor
Exec=sleep 600
X-Segue-BundleIdentifier=org.example.editor
X-Segue-BackgroundOnly=true
END
mkfifo "$folder/asked"
exec 8<>"$folder/asked"
launch() {
  : >"$folder/answered"
  printf 'launch\torg.example.editor\t-\n' >&8
  wait_for grep -q "^started" "$folder/answered" || fail "no program starts: $(cat "$folder/answered")"
  program=$(sed -n 's/^started //p' "$folder/answered")
}
begin_probe() {
  : >"$folder/answered"
  systemctl --user start probe.service || fail "the launcher's program does not start"
  wait_for grep -q "^ready" "$folder/answered" || fail "the launcher's program is not ready"
}
systemctl --user start dbus.service || fail "there is no bus"
wait_for busctl --user status org.freedesktop.systemd1 || fail "the manager is not on the bus"
begin_probe
launch
unit=$(grep -o 'app\.slice/app-segue-.*\.scope$' "/proc/$program/cgroup" | head -n 1)
unit=${unit#app.slice/}
echo "$unit" | grep -qE '^app-segue-org\.example\.my\\x2deditor-[0-9a-f]{16}\.scope$' ||
  fail "the program has no scope: $(cat "/proc/$program/cgroup")"
systemctl --user is-active "$unit" >/dev/null || fail "$unit is not active"
# All processes of the service are killed, and the program is none of them.
systemctl --user stop probe.service || fail "the launcher's program does not stop"
kill -0 "$program" || fail "the program went with the unit of what started it"
kill "$program"
is_forgotten() { [ "$(systemctl --user show -p LoadState --value "$unit")" = not-found ]; }
wait_for is_forgotten || fail "$unit stays after its program has ended"

# A manager that does not answer delays a program, and no more.
begin_probe
kill -STOP $manager
begun=$SECONDS
launch
took=$((SECONDS - begun))
grep -q "app-segue-" "/proc/$program/cgroup" && fail "the program has a scope of a manager that is stopped"
kill -CONT $manager
[ $took -le 6 ] || fail "a manager that is stopped holds a program for $took s"
kill -0 "$program" || fail "the program has ended"
kill "$program"
systemctl --user stop probe.service
exec 8>&-
systemctl --user exit
wait $manager
echo "all of it"
