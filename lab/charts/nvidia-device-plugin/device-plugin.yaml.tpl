{{- if .Values.devicePlugin.enabled }}
{{- $configMap := include "plugin.configmap" . }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "plugin.fullname" . }}
  namespace: {{ include "plugin.namespace" . }}
  labels:
    {{- include "plugin.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "plugin.selector" . | nindent 6 }}
  {{- with .Values.updateStrategy }}
  updateStrategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
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
        {{- include "plugin.config-manager" (dict "root" . "name" "nvidia-device-plugin-init" "once" true) | nindent 8 }}
      {{- end }}
      containers:
        {{- if $configMap }}
        {{- include "plugin.config-manager" (dict "root" . "name" "nvidia-device-plugin-sidecar" "once" false "process" "nvidia-device-plugin") | nindent 8 }}
        {{- end }}
        - name: nvidia-device-plugin-ctr
          image: {{ include "plugin.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: ["nvidia-device-plugin"]
          env:
            - { name: MPS_ROOT, value: {{ .Values.mps.root }} }
            {{- $text := dict "MIG_STRATEGY" .Values.migStrategy "DEVICE_LIST_STRATEGY" .Values.deviceListStrategy "DEVICE_ID_STRATEGY" .Values.deviceIDStrategy "NVIDIA_DRIVER_ROOT" .Values.nvidiaDriverRoot "NVIDIA_DEV_ROOT" .Values.nvidiaDevRoot "NVIDIA_CDI_HOOK_PATH" .Values.cdi.nvidiaHookPath "CDI_FEATURE_FLAGS" .Values.cdi.featureFlags "DEVICE_DISCOVERY_STRATEGY" .Values.deviceDiscoveryStrategy }}
            {{- range $name, $value := $text }}
            {{- if typeIs "string" $value }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
            {{- end }}
            {{- $switch := dict "FAIL_ON_INIT_ERROR" .Values.failOnInitError "PASS_DEVICE_SPECS" .Values.compatWithCPUManager "GDS_ENABLED" .Values.gdsEnabled "MOFED_ENABLED" .Values.mofedEnabled "GDRCOPY_ENABLED" .Values.gdrcopyEnabled }}
            {{- range $name, $value := $switch }}
            {{- if typeIs "bool" $value }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
            {{- end }}
            {{- if $configMap }}
            - { name: CONFIG_FILE, value: /config/config.yaml }
            {{- end }}
            {{- if include "plugin.mig-possible" . }}
            - { name: NVIDIA_MIG_MONITOR_DEVICES, value: all }
            {{- end }}
            - { name: NVIDIA_VISIBLE_DEVICES, value: all }
            - { name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility" }
          securityContext:
            {{- include "plugin.security" . | nindent 12 }}
          {{- with .Values.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - { name: kubelet-device-plugins-dir, mountPath: /var/lib/kubelet/device-plugins }
            {{- if typeIs "string" .Values.nvidiaDriverRoot }}
            - { name: driver-root, mountPath: /driver-root, readOnly: true }
            {{- end }}
            - { name: mps-shm, mountPath: /dev/shm }
            - { name: mps-root, mountPath: /mps }
            - { name: cdi-root, mountPath: /var/run/cdi }
            {{- if $configMap }}
            - { name: available-configs, mountPath: /available-configs }
            - { name: config, mountPath: /config }
            {{- end }}
      volumes:
        - { name: kubelet-device-plugins-dir, hostPath: { path: /var/lib/kubelet/device-plugins, type: Directory } }
        - { name: mps-root, hostPath: { path: {{ .Values.mps.root }}, type: DirectoryOrCreate } }
        - { name: mps-shm, hostPath: { path: {{ .Values.mps.root }}/shm } }
        {{- if typeIs "string" .Values.nvidiaDriverRoot }}
        - { name: driver-root, hostPath: { path: {{ .Values.nvidiaDriverRoot }}, type: Directory } }
        {{- end }}
        - { name: cdi-root, hostPath: { path: /var/run/cdi, type: DirectoryOrCreate } }
        {{- include "plugin.config-volumes" . | nindent 8 }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "plugin.placement" . | nindent 6 }}
{{- end }}
