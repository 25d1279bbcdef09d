{{- if .Values.gfd.enabled }}
{{- $configMap := include "plugin.configmap" . }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ printf "%s-gpu-feature-discovery" (include "plugin.fullname" .) | trunc 63 | trimSuffix "-" }}
  namespace: {{ include "plugin.namespace" . }}
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "plugin.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "plugin.pod-labels" . | nindent 8 }}
      annotations:
        {{- include "plugin.pod-annotations" . | nindent 8 }}
    spec:
      {{- include "plugin.pod" . | nindent 6 }}
      {{- include "plugin.shared-processes" . | nindent 6 }}
      {{- if $configMap }}
      initContainers:
        {{- include "plugin.config-manager" (dict "root" . "name" "gpu-feature-discovery-init" "once" true) | nindent 8 }}
      {{- end }}
      containers:
        {{- if $configMap }}
        {{- include "plugin.config-manager" (dict "root" . "name" "gpu-feature-discovery-sidecar" "once" false "process" "gpu-feature-discovery") | nindent 8 }}
        {{- end }}
        - name: gpu-feature-discovery-ctr
          image: {{ include "plugin.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: ["gpu-feature-discovery"]
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            {{- if typeIs "string" .Values.migStrategy }}
            - { name: MIG_STRATEGY, value: {{ .Values.migStrategy | quote }} }
            {{- end }}
            {{- if $configMap }}
            - { name: CONFIG_FILE, value: /config/config.yaml }
            {{- end }}
          securityContext:
            {{- toYaml .Values.gfd.securityContext | nindent 12 }}
          volumeMounts:
            - { name: output-dir, mountPath: /etc/kubernetes/node-feature-discovery/features.d }
            - { name: host-sys, mountPath: /sys }
            {{- if $configMap }}
            - { name: available-configs, mountPath: /available-configs }
            - { name: config, mountPath: /config }
            {{- end }}
      volumes:
        - { name: output-dir, hostPath: { path: /etc/kubernetes/node-feature-discovery/features.d, type: DirectoryOrCreate } }
        - { name: host-sys, hostPath: { path: /sys, type: Directory } }
        {{- include "plugin.config-volumes" . | nindent 8 }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "plugin.placement" . | nindent 6 }}
{{- end }}
