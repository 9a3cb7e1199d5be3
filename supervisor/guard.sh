#!/bin/sh
# Ends the supervisor's children when the supervisor itself is gone, even by kill -9: then the pipe on standard input ends.
# Lines on standard input:
#   watch PID STARTED SIGNAL SECONDS   end PID with SIGNAL, by force SECONDS later
#   forget PID                         it has ended, or its owner ended it
# STARTED is the start time of the process (field 22 of /proc/PID/stat, `-` when unknown): a reused id is never signalled.
# A signal to this script would only leave orphans behind, so the polite ones are ignored.
trap '' HUP INT TERM
set -u
watched=''

alive() { # PID STARTED
  if [ -r "/proc/$1/stat" ]; then
    read -r line 2>/dev/null <"/proc/$1/stat" || return 1
    wanted=$2
    # The name in parentheses may contain spaces: what counts begins after the last parenthesis.
    set -- ${line##*) }
    [ "$1" != Z ] && { [ "$wanted" = - ] || [ "${20}" = "$wanted" ]; }
  else
    [ "$2" = - ] && kill -0 "$1" 2>/dev/null
  fi
}

while read -r verb pid started signal seconds; do
  case $verb in
    watch) watched="$pid:$started:$signal:$seconds $watched" ;;
    forget)
      rest=''
      for entry in $watched; do
        [ "${entry%%:*}" = "$pid" ] || rest="$rest $entry"
      done
      watched=$rest
      ;;
  esac
done

# The youngest first, so that Envoy goes before the gateway and the gateway before its database.
for entry in $watched; do
  old_ifs=$IFS
  IFS=:
  set -- $entry
  IFS=$old_ifs
  pid=$1 started=$2 signal=$3 ticks=$(($4 * 10))
  alive "$pid" "$started" || continue
  kill "-$signal" "$pid" 2>/dev/null
  while [ "$ticks" -gt 0 ] && alive "$pid" "$started"; do
    sleep 0.1
    ticks=$((ticks - 1))
  done
  alive "$pid" "$started" && kill -KILL "$pid" 2>/dev/null
done
exit 0
