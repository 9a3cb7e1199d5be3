#!/usr/bin/env bash
# Envoy as the first process of a container: asked to end, it ends when its clients have their
# answers. The gateway process, which shares the folder of sockets, drains Envoy and says when that
# is (ext-proc/process/open-envoy-drain.ts). Arguments are Envoy's.
set -u
data=${GATEWAY_DATA:-/data}
run=$data/run
# Longer than the gateway process lets requests in flight live (DRAIN_TIMEOUT_MS) and takes to
# answer what it cuts then (13 s), shorter than the container's stop_grace_period.
longest_wait_s=${ENVOY_END_WAIT_S:-50}

asked=
trap 'asked=yes' TERM INT
# Written by the gateway process; a container of it that starts at the same time needs a moment.
until [ -e "$data/envoy/envoy.yaml" ]; do
  [ -z "$asked" ] || exit 0
  sleep 0.2
done
rm -f "$run/envoy-ends" "$run/envoy-idle"

# Another bootstrap (`listen` has changed, or the release) is read by another Envoy only: this one
# ends, and Docker starts the container again.
bootstrap=$(<"$data/envoy/envoy.yaml")
until_another_bootstrap() {
  while [ "$(<"$data/envoy/envoy.yaml")" = "$bootstrap" ]; do sleep 1; done
}
until_another_bootstrap &
another=$!
envoy "$@" &
envoy=$!
# A signal ends `wait` before either of them has ended.
wait -n "$envoy" "$another"
status=$?
if [ -n "$asked" ] || ! kill -0 "$another" 2>/dev/null; then
  : >"$run/envoy-ends"
  deadline=$((SECONDS + longest_wait_s))
  # A gateway process that ended in order took its sockets with it, and nothing is in flight without
  # it.
  while kill -0 "$envoy" 2>/dev/null && [ ! -e "$run/envoy-idle" ] && [ -e "$run/stream-0.sock" ] && [ "$SECONDS" -lt "$deadline" ]; do
    sleep 0.1
  done
  kill -TERM "$envoy" 2>/dev/null
  wait "$envoy"
  status=$?
fi
kill "$another" 2>/dev/null
exit "$status"
