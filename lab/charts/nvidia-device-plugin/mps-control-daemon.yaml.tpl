{{- $configMap := include "plugin.configmap" . }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ printf "%s-mps-control-daemon" (include "plugin.fullname" .) | trunc 63 | trimSuffix "-" }}
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
      {{- if .Values.mps.enableHostPID }}
      hostPID: true
      {{- else }}
      {{- include "plugin.shared-processes" . | nindent 6 }}
      {{- end }}
      initContainers:
        - name: mps-control-daemon-mounts
          image: {{ include "plugin.image" . }}
          command: ["mps-control-daemon", "mount-shm"]
          securityContext: { privileged: true }
          volumeMounts:
            - { name: mps-root, mountPath: /mps, mountPropagation: Bidirectional }
        {{- if $configMap }}
        {{- include "plugin.config-manager" (dict "root" . "name" "mps-control-daemon-init" "once" true) | nindent 8 }}
        {{- end }}
      containers:
        {{- if $configMap }}
        {{- include "plugin.config-manager" (dict "root" . "name" "mps-control-daemon-sidecar" "once" false "process" "/usr/bin/mps-control-daemon") | nindent 8 }}
        {{- end }}
        - name: mps-control-daemon-ctr
          image: {{ include "plugin.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: ["mps-control-daemon"]
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
            - { name: NVIDIA_VISIBLE_DEVICES, value: all }
            - { name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility" }
          securityContext: { privileged: true }
          volumeMounts:
            - { name: mps-shm, mountPath: /dev/shm }
            - { name: mps-root, mountPath: /mps }
            {{- if $configMap }}
            - { name: available-configs, mountPath: /available-configs }
            - { name: config, mountPath: /config }
            {{- end }}
      volumes:
        - { name: mps-root, hostPath: { path: {{ .Values.mps.root }}, type: DirectoryOrCreate } }
        - { name: mps-shm, hostPath: { path: {{ .Values.mps.root }}/shm } }
        {{- include "plugin.config-volumes" . | nindent 8 }}
      nodeSelector:
        # Set where the plugin shares GPUs by MPS; without it the DaemonSet wants no pod.
        nvidia.com/mps.capable: "true"
        {{- with .Values.nodeSelector }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- include "plugin.placement" . | nindent 6 }}
