{{- $account := "gpu-operator-upgrade-crd-hook" }}
{{- $byProgram := semverCompare ">=26.0.0-0" .Chart.AppVersion }}
{{- $definitions := list "clusterpolicies" "nvidiadrivers" }}
{{- if semverCompare ">=26.7.0-0" .Chart.AppVersion }}{{ $definitions = append $definitions "gpuclusters" }}{{ end }}
{{- $files := list }}
{{- range $definitions }}{{ $files = append $files (printf "/opt/gpu-operator/nvidia.com_%s.yaml" .) }}{{ end }}
{{- if .Values.nfd.enabled }}{{ $files = append $files "/opt/gpu-operator/nfd-api-crds.yaml" }}{{ end }}
{{- if .Values.operator.upgradeCRD }}
{{- $metadata := dict "helm.sh/hook" "pre-upgrade" "helm.sh/hook-weight" "0" "helm.sh/hook-delete-policy" "hook-succeeded,before-hook-creation" }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $account }}-sa
  {{- if $byProgram }}
  namespace: {{ .Release.Namespace }}
  {{- end }}
  annotations: {{ toJson $metadata }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $account }}-role
  annotations: {{ toJson $metadata }}
rules:
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    verbs: [create, get, list, watch, patch, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $account }}-binding
  annotations: {{ toJson $metadata }}
subjects:
  - kind: ServiceAccount
    name: {{ $account }}-sa
    namespace: {{ .Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $account }}-role
---
{{- $apply := "" }}
{{- range $files }}{{ $apply = printf "%skubectl apply -f %s; " $apply . }}{{ end }}
{{- include "gpu-operator.hook" (dict "root" . "name" "upgrade-crd" "when" "pre-upgrade" "weight" "1" "account" (printf "%s-sa" $account) "verb" "apply" "files" $files "shell" $apply) }}
{{- end }}
{{- if .Values.operator.cleanupCRD }}
---
{{- $delete := "kubectl delete clusterpolicy cluster-policy; kubectl delete crd clusterpolicies.nvidia.com; kubectl delete crd nvidiadrivers.nvidia.com --ignore-not-found=true;" }}
{{- if .Values.nfd.enabled }}
{{- range list "nodefeatures" "nodefeaturegroups" "nodefeaturerules" }}{{ $delete = printf "%skubectl delete crd %s.nfd.k8s-sigs.io --ignore-not-found=true; " $delete . }}{{ end }}
{{- end }}
{{- include "gpu-operator.hook" (dict "root" . "name" "cleanup-crd" "when" "pre-delete" "weight" "1" "account" "gpu-operator" "verb" "delete" "files" $files "shell" $delete) }}
{{- end }}
{{- if semverCompare ">=26.7.0-0" .Chart.AppVersion }}
---
{{- include "gpu-operator.hook" (dict "root" . "name" "cleanup-gpucluster" "when" "pre-delete" "weight" "0" "account" "gpu-operator" "command" (list "/usr/bin/cleanup-gpuclusters" "--gpucluster-name" "gpu-cluster")) }}
{{- end }}

{{- define "gpu-operator.hook" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: gpu-operator-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  annotations:
    helm.sh/hook: {{ .when }}
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: hook-succeeded,before-hook-creation
  labels:
    {{- include "gpu-operator.labels" .root | nindent 4 }}
spec:
  template:
    metadata:
      name: gpu-operator-{{ .name }}
      labels:
        {{- include "gpu-operator.labels" .root | nindent 8 }}
    spec:
      serviceAccountName: {{ .account }}
      {{- with .root.Values.operator.tolerations }}
      tolerations: {{ toJson . }}
      {{- end }}
      {{- if semverCompare ">=26.7.0-0" .root.Chart.AppVersion }}
      nodeSelector: {{ toJson .root.Values.operator.nodeSelector }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "gpu-operator.image" .root }}
          imagePullPolicy: {{ .root.Values.operator.imagePullPolicy }}
          {{- if .command }}
          command: {{ toJson .command }}
          {{- else if semverCompare ">=26.0.0-0" .root.Chart.AppVersion }}
          command: [/usr/bin/manage-crds]
          args:
            - {{ .verb }}
            {{- range .files }}
            - --filepath={{ . }}
            {{- end }}
          {{- else }}
          command: [{{ if semverCompare ">=25.10.0-0" .root.Chart.AppVersion }}sh{{ else }}/bin/sh{{ end }}, -c, {{ .shell | quote }}]
          {{- end }}
      restartPolicy: OnFailure
{{- end }}
