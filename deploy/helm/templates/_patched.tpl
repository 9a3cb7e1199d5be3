{{- define "patched" }}
{{- $object := .object }}
{{- $values := .values }}
{{- $id := printf "%s/%s" $object.kind $object.metadata.name }}
{{- $_ := set $object.metadata "namespace" .release.Namespace }}
{{- with $object.spec.template }}
{{- range concat (.spec.initContainers | default list) .spec.containers }}
{{- $_ := set . "image" (eq .name "envoy" | ternary $values.envoyImage $values.image) }}
{{- if eq $id "StatefulSet/gateway" }}{{ $_ := set .resources "requests" (get $values.requests .name) }}{{ end }}
{{- end }}
{{- end }}
{{- /* A Job cannot be changed: each upgrade has its own. */}}
{{- if and (eq $id "Job/migrate") (gt (int .release.Revision) 1) }}
{{- $_ := set $object.metadata "name" (printf "migrate-%d" (int .release.Revision)) }}
{{- end }}
{{- if eq $id "HorizontalPodAutoscaler/gateway" }}
{{- if lt (int $values.mostPods) (int $values.leastPods) }}{{ fail "leastPods is more than mostPods" }}{{ end }}
{{- $_ := set $object.spec "minReplicas" $values.leastPods }}
{{- $_ := set $object.spec "maxReplicas" $values.mostPods }}
{{- end }}
{{- if and (eq $id "StatefulSet/gateway") (eq $values.autoscaling "none") }}{{ $_ := set $object.spec "replicas" $values.leastPods }}{{ end }}
{{- if ne $values.serviceType "ClusterIP" }}
{{- /* Clients come from every address, and IP allowlists of keys need theirs, not the node's. */}}
{{- if eq $id "Service/gateway" }}
{{- $_ := set $object.spec "type" $values.serviceType }}
{{- $_ := set $object.spec "externalTrafficPolicy" "Local" }}
{{- end }}
{{- if eq $id "NetworkPolicy/gateway" }}{{ $_ := unset (first $object.spec.ingress) "from" }}{{ end }}
{{- end }}
{{- include "merge" (dict "into" $object "from" (get $values.patches $id | default dict)) }}
{{- toYaml $object | replace "kubernetes.io/metadata.name: ingress-nginx" (print "kubernetes.io/metadata.name: " (quote $values.ingressNamespace)) }}
{{- end }}

{{- /* Merges maps by key, and elements of lists by mountPath, else by name. */}}
{{- define "merge" }}
{{- $into := .into }}
{{- range $key, $value := .from }}
{{- $old := get $into $key }}
{{- if and (kindIs "map" $value) (kindIs "map" $old) }}
{{- include "merge" (dict "into" $old "from" $value) }}
{{- else if and (kindIs "slice" $value) (kindIs "slice" $old) (kindIs "map" (first $value)) (hasKey (first $value) "name") }}
{{- $by := hasKey (first $value) "mountPath" | ternary "mountPath" "name" }}
{{- range $element := $value }}
{{- $same := dict }}
{{- range $old }}{{ if eq (get . $by) (get $element $by) }}{{ $same = . }}{{ end }}{{ end }}
{{- if not $same }}{{ $old = append $old $same }}{{ end }}
{{- include "merge" (dict "into" $same "from" $element) }}
{{- end }}
{{- $_ := set $into $key $old }}
{{- else }}
{{- $_ := set $into $key $value }}
{{- end }}
{{- end }}
{{- end }}

{{- define "config" }}
{{- if .Values.config }}{{ .Values.config }}
{{- else if .Values.trial.enabled }}{{ .Files.Get "trial/gateway.yaml" }}
{{- else }}{{ fail "config is missing, also at an upgrade: --set-file config=gateway.yaml" }}
{{- end }}
{{- end }}
