{{- if .Values.nfd.nodefeaturerules }}
{{- with (include "gpu-operator.facts" . | fromJson).featureRule }}
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: {{ .metadata.name }}
spec: {{ toJson .spec }}
{{- end }}
{{- end }}
