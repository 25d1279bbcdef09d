{{- define "plugin.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "plugin.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end }}

{{- define "plugin.pod-labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- with .Values.selectorLabelsOverride }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "plugin.selector" -}}
{{- if .Values.selectorLabelsOverride -}}
{{ toYaml .Values.selectorLabelsOverride }}
{{- else -}}
{{ include "plugin.pod-labels" . }}
{{- end }}
{{- end }}

{{- define "plugin.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{ include "plugin.pod-labels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "plugin.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end }}

{{/* ConfigMap with the configurations: somebody else's, the chart's own, or none. */}}
{{- define "plugin.configmap" -}}
{{- if .Values.config.name -}}
{{- .Values.config.name -}}
{{- else if .Values.config.map -}}
{{- include "plugin.fullname" . }}-configs
{{- end -}}
{{- end }}

{{/* MIG may be in use unless it is known not to be; then the plugin must see the MIG monitor. */}}
{{- define "plugin.mig-possible" -}}
{{- if .Values.migStrategy -}}
{{- if ne .Values.migStrategy "none" }}true{{ end -}}
{{- else if include "plugin.configmap" . -}}
true
{{- end -}}
{{- end }}

{{- define "plugin.security" -}}
{{- if .Values.securityContext -}}
{{ toYaml .Values.securityContext }}
{{- else if .Values.compatWithCPUManager -}}
privileged: true
{{- else if or (include "plugin.mig-possible" .) (contains "volume-mounts" (.Values.deviceListStrategy | default "" | toString)) -}}
capabilities:
  add: ["SYS_ADMIN"]
{{- else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: ["ALL"]
{{- end }}
{{- end }}

{{/* Where all pods of the chart may run. */}}
{{- define "plugin.placement" -}}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* How all pods of the chart run. */}}
{{- define "plugin.pod" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if include "plugin.configmap" . }}
serviceAccountName: {{ include "plugin.fullname" . }}-service-account
{{- end }}
{{- end }}

{{/* Lets config-manager signal its neighbour. Not beside hostPID, which sees all processes anyway. */}}
{{- define "plugin.shared-processes" -}}
{{- if include "plugin.configmap" . }}
shareProcessNamespace: true
{{- end }}
{{- end }}

{{/* A container that picks the node's configuration: once before the start, or for as long as the pod runs. */}}
{{- define "plugin.config-manager" -}}
- name: {{ .name }}
  image: {{ include "plugin.image" .root }}
  command: ["config-manager"]
  env:
    - { name: ONESHOT, value: {{ .once | quote }} }
    - name: NODE_NAME
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
    - { name: NODE_LABEL, value: nvidia.com/device-plugin.config }
    - { name: CONFIG_FILE_SRCDIR, value: /available-configs }
    - { name: CONFIG_FILE_DST, value: /config/config.yaml }
    - { name: DEFAULT_CONFIG, value: {{ .root.Values.config.default | quote }} }
    - { name: FALLBACK_STRATEGIES, value: {{ join "," .root.Values.config.fallbackStrategies | quote }} }
    - { name: SEND_SIGNAL, value: {{ not .once | quote }} }
    {{- if not .once }}
    - { name: SIGNAL, value: "1" }
    - { name: PROCESS_TO_SIGNAL, value: {{ .process }} }
    {{- end }}
  volumeMounts:
    - { name: available-configs, mountPath: /available-configs }
    - { name: config, mountPath: /config }
{{- end }}

{{- define "plugin.config-volumes" -}}
{{- with include "plugin.configmap" . }}
- name: available-configs
  configMap:
    name: {{ . }}
- name: config
  emptyDir: {}
{{- end }}
{{- end }}

{{/* A change of the embedded configuration rolls all pods (k8s-device-plugin, _helpers.tpl, podAnnotations). */}}
{{- define "plugin.pod-annotations" -}}
{{- with .Values.podAnnotations }}
{{- toYaml . }}
{{- end }}
{{- with .Values.config.map }}
checksum/config: {{ toJson . | sha256sum }}
{{- end }}
{{- end -}}
