{{- range $operand := list "devicePlugin" "migManager" "dcgmExporter" }}
{{- with (index $.Values $operand).config }}
{{- if and .create .data }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "gpu-operator.common-labels" $ | nindent 4 }}
data:
  {{- toYaml .data | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
