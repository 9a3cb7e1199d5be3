#!/usr/bin/env bash
# Exits with 1 and prints what is missing if tests cannot start a cluster. Building Kubernetes takes
# half an hour, so its programs must exist.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
programs=${KUBERNETES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubernetes-node}/${KUBERNETES_VERSION:-v1.36.3}
missing() { echo "$1"; exit 1; }
[ -f "${KUBERNETES_UP:-$here/../shared/kubernetes/up.sh}" ] || missing 'a script that brings a cluster up (KUBERNETES_UP)'
[ -e "$programs/standin.tar" ] || missing "programs of Kubernetes in $programs, which that script builds (KUBERNETES_CACHE)"
[ "$(id -u)" -eq 0 ] || missing 'root'
docker info >/dev/null 2>&1 || missing 'a Docker engine that answers'
