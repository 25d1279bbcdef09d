{{/* Labels of what the chart makes. */}}
{{- define "gpu-operator.common-labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.operator.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of the operator's own objects. */}}
{{- define "gpu-operator.labels" -}}
{{ include "gpu-operator.common-labels" . }}
app.kubernetes.io/component: gpu-operator
{{- end }}

{{/* What was recorded of the real chart's objects of this release (lab/charts/facts): rules and feature rules. */}}
{{- define "gpu-operator.facts" -}}
{{- .Files.Get "facts.json" -}}
{{- end }}

{{- define "gpu-operator.image" -}}
{{ .Values.operator.repository }}/{{ .Values.operator.image }}:{{ .Values.operator.version | default .Chart.AppVersion }}
{{- end }}

{{/* The namespace of an object, which releases before 25.10 left to Helm. */}}
{{- define "gpu-operator.namespace" -}}
{{- if semverCompare ">=25.10.0-0" .Chart.AppVersion -}}
namespace: {{ .Release.Namespace }}
{{- end -}}
{{- end }}

{{/* Those entries of a section that have a value, as JSON: a boolean always has one, but for some that are false. */}}
{{- define "gpu-operator.present" -}}
{{- $present := dict -}}
{{- range $key, $value := .section -}}
{{- if and (not (has $key $.without)) (or (and (kindIs "bool" $value) (not (has $key (list "hostNetwork" "hostPID" "enablePodLabels" "enablePodUID")))) (not (empty $value))) -}}
{{- $_ := set $present $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $present -}}
{{- end }}
