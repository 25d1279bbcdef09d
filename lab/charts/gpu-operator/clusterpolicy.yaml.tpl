{{- $deploy := true }}
{{- with .Values.clusterPolicy }}{{ $deploy = .deployCR }}{{ end }}
{{- if $deploy }}
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
  {{- if .Values.operator.cleanupCRD }}
  annotations:
    helm.sh/resource-policy: keep # a hook deletes it
  {{- end }}
spec:
  hostPaths: {{ include "gpu-operator.present" (dict "section" .Values.hostPaths "without" list) }}
  operator:
    {{- range $key := list "runtimeClass" "defaultGPUMode" "initContainer" "use_ocp_driver_toolkit" }}
    {{- with index $.Values.operator $key }}
    {{ $key }}: {{ toJson . }}
    {{- end }}
    {{- end }}
  daemonsets:
    labels:
      helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
      app.kubernetes.io/managed-by: {{ .Chart.Name }}
      {{- with .Values.daemonsets.labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- range $key := list "annotations" "tolerations" "priorityClassName" "updateStrategy" "rollingUpdate" "podSecurityContext" }}
    {{- with index $.Values.daemonsets $key }}
    {{ $key }}: {{ toJson . }}
    {{- end }}
    {{- end }}
  validator:
    {{- $validator := include "gpu-operator.present" (dict "section" .Values.validator "without" (list "plugin" "cuda" "driver" "toolkit" "vfioPCI" "vgpuManager" "vgpuDevices")) | fromJson }}
    {{- $_ := set $validator "version" (.Values.validator.version | default .Chart.AppVersion) }}
    {{- toYaml $validator | nindent 4 }}
    {{- range $part := list "plugin" "cuda" "driver" "toolkit" "vfioPCI" "vgpuManager" "vgpuDevices" }}
    {{- with index $.Values.validator $part }}
    {{- if .env }}
    {{ $part }}: { env: {{ toJson .env }} }
    {{- else if semverCompare ">=25.10.0-0" $.Chart.AppVersion }}
    {{ $part }}: { env: [] }
    {{- else }}
    {{ $part }}: # without env there is nothing here, and the API server refuses it: "must be of type object"
    {{- end }}
    {{- end }}
    {{- end }}
  mig: {{ include "gpu-operator.present" (dict "section" .Values.mig "without" list) }}
  psa: {{ toJson .Values.psa }}
  cdi: {{ toJson (ternary .Values.cdi (omit .Values.cdi "nriPluginEnabled") (and .Values.cdi.enabled (.Values.cdi.nriPluginEnabled | default false))) }}
  driver:
    {{- $driver := include "gpu-operator.present" (dict "section" .Values.driver "without" (list "nvidiaDriverCRD" "upgradePolicy" "secretEnv")) | fromJson }}
    {{- $_ := set $driver "manager" (include "gpu-operator.present" (dict "section" .Values.driver.manager "without" list) | fromJson) }}
    {{- $_ := set $driver "useNvidiaDriverCRD" .Values.driver.nvidiaDriverCRD.enabled }}
    {{- with .Values.driver.upgradePolicy }}
    {{- $policy := omit . "gpuPodDeletion" }}
    {{- range $part := list "waitForCompletion" "drain" }}
    {{- with index $policy $part }}
    {{- if not .podSelector }}{{ $_ := set $policy $part (omit . "podSelector") }}{{ end }}
    {{- end }}
    {{- end }}
    {{- $_ := set $policy "podDeletion" .gpuPodDeletion }}
    {{- $_ := set $driver "upgradePolicy" $policy }}
    {{- end }}
    {{- toYaml $driver | nindent 4 }}
  {{- $fixed := list "hostPaths" "operator" "daemonsets" "validator" "mig" "psa" "cdi" "driver" }}
  {{- $elsewhere := list "global" "platform" "nfd" "node-feature-discovery" "clusterPolicy" "gpuCluster" "draDriver" "extraObjects" "nameOverride" "fullnameOverride" }}
  {{- range $name, $section := .Values }}
  {{- $off := and (eq $name "gds") (not $section.enabled) (semverCompare "<25.10.0-0" $.Chart.AppVersion) }}
  {{- if and (kindIs "map" $section) (not (has $name (concat $fixed $elsewhere))) (not $off) }}
  {{ $name }}:
    {{- $spec := include "gpu-operator.present" (dict "section" $section "without" (list "config" "mps")) | fromJson }}
    {{- with $section.driverManager }}
    {{- $_ := set $spec "driverManager" (include "gpu-operator.present" (dict "section" . "without" list) | fromJson) }}
    {{- end }}
    {{- if and (eq $name "ccManager") $section.env (semverCompare "<25.10.0-0" $.Chart.AppVersion) }}
    {{- $_ := set $spec "env" $.Values.vfioManager.env }}{{/* a slip of the real one */}}
    {{- end }}
    {{- with $section.config }}
    {{- if eq $name "kataManager" }}
    {{- $_ := set $spec "config" . }}
    {{- else if or .name (has $name (list "migManager" "vgpuDeviceManager")) }}
    {{- $config := pick . "name" "default" }}
    {{- if eq $name "vgpuDeviceManager" }}
    {{- else if and (not .name) (semverCompare ">=26.0.0-0" $.Chart.AppVersion) }}{{ $config = omit $config "name" }}
    {{- else if not .name }}{{ $_ := set $config "name" nil }}{{ end }}
    {{- $_ := set $spec "config" $config }}
    {{- end }}
    {{- end }}
    {{- if eq $name "nodeStatusExporter" }}
    {{- $_ := set $spec "version" ($section.version | default $.Chart.AppVersion) }}
    {{- end }}
    {{- toYaml $spec | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
