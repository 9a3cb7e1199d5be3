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
{{- $_ := set $object.spec "minReplicas" $values.leastPods }}
{{- $_ := set $object.spec "maxReplicas" $values.mostPods }}
{{- end }}
{{- if and (eq $id "Service/gateway") (ne $values.serviceType "ClusterIP") }}{{ $_ := set $object.spec "type" $values.serviceType }}{{ end }}
{{- toYaml $object | replace "kubernetes.io/metadata.name: ingress-nginx" (print "kubernetes.io/metadata.name: " $values.ingressNamespace) }}
{{- end }}

{{- define "config" }}
{{- if .Values.config }}{{ .Values.config }}
{{- else if .Values.trial.enabled }}{{ .Files.Get "trial/gateway.yaml" }}
{{- else }}{{ .Files.Get "kubernetes/base/config/gateway.yaml" }}
{{- end }}
{{- end }}
