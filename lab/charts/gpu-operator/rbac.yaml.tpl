{{- $facts := include "gpu-operator.facts" . | fromJson }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: gpu-operator
  {{- include "gpu-operator.namespace" . | nindent 2 }}
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: gpu-operator
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
rules:
  {{- range $facts.clusterRules }}
  {{- $verbs := .verbs }}
  {{- if and $.Values.operator.cleanupCRD (has "apiextensions.k8s.io" .apiGroups) }}{{ $verbs = append .verbs "delete" }}{{ end }}
  - {{ toJson (merge (dict "verbs" $verbs) .) }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: gpu-operator
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: gpu-operator
    namespace: {{ .Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: gpu-operator
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: gpu-operator
  {{- include "gpu-operator.namespace" . | nindent 2 }}
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
rules: {{ toJson $facts.rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: gpu-operator
  {{- include "gpu-operator.namespace" . | nindent 2 }}
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: gpu-operator
    namespace: {{ .Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: gpu-operator
