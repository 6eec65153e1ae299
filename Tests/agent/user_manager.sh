#!/bin/bash
# A systemd --user in namespaces of its own starts the agent when an app opens, and stops it. Ends with 77 if no user
# manager can run here, with the reason in the last line; prints "all of it" if everything was as it should be.
#
#     user_manager.sh FOLDER PARTICIPANT
#
# FOLDER has units/; PARTICIPANT is Tests/runtime/participant.c.
folder=$1 participant=$2
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
  INSIDE=1 unshare -mC --propagation private bash "$0" "$folder" "$participant"
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

unset SEGUE_RUNTIME_DIR SEGUE_STATE_DIR
export XDG_RUNTIME_DIR=/run/user/0 XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state HOME=$folder
mkdir -p "$XDG_CONFIG_HOME/systemd/user"
cp "$folder"/units/* "$XDG_CONFIG_HOME/systemd/user/"
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
[ -S /run/user/0/segue/agent ] || fail "there is no doorbell"
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
[ -S /run/user/0/segue/agent ] || fail "the doorbell went with the agent"
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
systemctl --user exit
wait $manager
echo "all of it"
