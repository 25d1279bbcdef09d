{{/* Labels of the chart's own objects. */}}
{{- define "gpu-operator.labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: gpu-operator
{{- with .Values.operator.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Those entries of a section that have a value (a boolean always has one), as JSON. */}}
{{- define "gpu-operator.present" -}}
{{- $present := dict -}}
{{- range $key, $value := .section -}}
{{- if and (not (has $key $.without)) (or (kindIs "bool" $value) (not (empty $value))) -}}
{{- $_ := set $present $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $present -}}
{{- end }}

{{/* Name of the node feature discovery's objects: the subchart's, which has a name of its own. */}}
{{- define "gpu-operator.nfd" -}}
{{- if contains "node-feature-discovery" .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-node-feature-discovery" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "gpu-operator.nfd.selector" -}}
app.kubernetes.io/name: node-feature-discovery
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
