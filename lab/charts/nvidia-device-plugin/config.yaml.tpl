{{- if and .Values.config.map (not .Values.config.name) }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "plugin.configmap" . }}
  namespace: {{ include "plugin.namespace" . }}
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
data:
  {{- toYaml .Values.config.map | nindent 2 }}
{{- end }}
{{- if include "plugin.configmap" . }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "plugin.fullname" . }}-service-account
  namespace: {{ include "plugin.namespace" . }}
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "plugin.fullname" . }}-role
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: ["nodes"]
    verbs: ["get", "list", "watch"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "plugin.fullname" . }}-role-binding
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: {{ include "plugin.fullname" . }}-service-account
    namespace: {{ include "plugin.namespace" . }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "plugin.fullname" . }}-role
{{- end }}
