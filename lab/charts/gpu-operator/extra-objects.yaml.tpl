{{- range .Values.extraObjects }}
---
{{ tpl (toYaml .) $ }}
{{- end }}
