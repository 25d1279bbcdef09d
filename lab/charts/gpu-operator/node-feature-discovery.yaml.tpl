{{- if .Values.nfd.enabled }}
{{- $nfd := index .Values "node-feature-discovery" }}
{{- $image := printf "registry.k8s.io/nfd/node-feature-discovery:v%s" (index .Chart.Annotations "node-feature-discovery" | trimPrefix "v") }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $nfd.master.serviceAccount.name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "gpu-operator.nfd.selector" . | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "gpu-operator.nfd" . }}
  labels:
    {{- include "gpu-operator.nfd.selector" . | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: ["nodes", "nodes/status"]
    verbs: ["get", "list", "watch", "patch", "update"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "gpu-operator.nfd" . }}
  labels:
    {{- include "gpu-operator.nfd.selector" . | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: {{ $nfd.master.serviceAccount.name }}
    namespace: {{ .Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "gpu-operator.nfd" . }}
{{- range $role := list "master" "worker" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "gpu-operator.nfd" $ }}-{{ $role }}-conf
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "gpu-operator.nfd.selector" $ | nindent 4 }}
data:
  nfd-{{ $role }}.conf: |-
    {{- toYaml (index $nfd $role).config | nindent 4 }}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "gpu-operator.nfd" . }}-master
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "gpu-operator.nfd.selector" . | nindent 4 }}
    role: master
spec:
  replicas: 1
  selector:
    matchLabels:
      {{- include "gpu-operator.nfd.selector" . | nindent 6 }}
      role: master
  template:
    metadata:
      labels:
        {{- include "gpu-operator.nfd.selector" . | nindent 8 }}
        role: master
    spec:
      serviceAccountName: {{ $nfd.master.serviceAccount.name }}
      priorityClassName: {{ $nfd.priorityClassName }}
      containers:
        - name: master
          image: {{ $image }}
          command: ["nfd-master"]
          args: ["-enable-leader-election"]
          securityContext:
            {{- include "gpu-operator.nfd.security" . | nindent 12 }}
          volumeMounts:
            - { name: nfd-master-conf, mountPath: /etc/kubernetes/node-feature-discovery, readOnly: true }
      volumes:
        - name: nfd-master-conf
          configMap:
            name: {{ include "gpu-operator.nfd" . }}-master-conf
      tolerations:
        {{- $default := list (dict "key" "node-role.kubernetes.io/control-plane" "operator" "Equal" "value" "" "effect" "NoSchedule") }}
        {{- toYaml ($nfd.master.tolerations | default $default) | nindent 8 }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "gpu-operator.nfd" . }}-worker
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "gpu-operator.nfd.selector" . | nindent 4 }}
    role: worker
spec:
  selector:
    matchLabels:
      {{- include "gpu-operator.nfd.selector" . | nindent 6 }}
      role: worker
  template:
    metadata:
      labels:
        {{- include "gpu-operator.nfd.selector" . | nindent 8 }}
        role: worker
    spec:
      serviceAccountName: {{ $nfd.worker.serviceAccount.name }}
      priorityClassName: {{ $nfd.priorityClassName }}
      containers:
        - name: worker
          image: {{ $image }}
          command: ["nfd-worker"]
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          securityContext:
            {{- include "gpu-operator.nfd.security" . | nindent 12 }}
          volumeMounts:
            - { name: host-boot, mountPath: /host-boot, readOnly: true }
            - { name: host-os-release, mountPath: /host-etc/os-release, readOnly: true }
            - { name: host-sys, mountPath: /host-sys, readOnly: true }
            - { name: host-usr-lib, mountPath: /host-usr/lib, readOnly: true }
            - { name: host-lib, mountPath: /host-lib, readOnly: true }
            - { name: host-proc-swaps, mountPath: /host-proc/swaps, readOnly: true }
            - { name: features-d, mountPath: /etc/kubernetes/node-feature-discovery/features.d/, readOnly: true }
            - { name: nfd-worker-conf, mountPath: /etc/kubernetes/node-feature-discovery, readOnly: true }
      volumes:
        - { name: host-boot, hostPath: { path: /boot } }
        - { name: host-os-release, hostPath: { path: /etc/os-release } }
        - { name: host-sys, hostPath: { path: /sys } }
        - { name: host-usr-lib, hostPath: { path: /usr/lib } }
        - { name: host-lib, hostPath: { path: /lib } }
        - { name: host-proc-swaps, hostPath: { path: /proc/swaps } }
        - { name: features-d, hostPath: { path: /etc/kubernetes/node-feature-discovery/features.d/ } }
        - name: nfd-worker-conf
          configMap:
            name: {{ include "gpu-operator.nfd" . }}-worker-conf
      {{- with $nfd.worker.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $nfd.worker.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $nfd.worker.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- $parts := list (dict "api" "v1" "kind" "ServiceAccount") (dict "api" "rbac.authorization.k8s.io/v1" "kind" "ClusterRole") (dict "api" "rbac.authorization.k8s.io/v1" "kind" "ClusterRoleBinding") (dict "api" "batch/v1" "kind" "Job") }}
{{- range $part := $parts }}
---
apiVersion: {{ $part.api }}
kind: {{ $part.kind }}
metadata:
  name: {{ include "gpu-operator.nfd" $ }}-prune
  {{- if not (hasPrefix "ClusterRole" $part.kind) }}
  namespace: {{ $.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "gpu-operator.nfd.selector" $ | nindent 4 }}
  annotations:
    helm.sh/hook: post-delete
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- if eq $part.kind "ClusterRole" }}
rules:
  - apiGroups: [""]
    resources: ["nodes", "nodes/status"]
    verbs: ["get", "patch", "update", "list"]
{{- else if eq $part.kind "ClusterRoleBinding" }}
subjects:
  - kind: ServiceAccount
    name: {{ include "gpu-operator.nfd" $ }}-prune
    namespace: {{ $.Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "gpu-operator.nfd" $ }}-prune
{{- else if eq $part.kind "Job" }}
spec:
  template:
    metadata:
      labels:
        {{- include "gpu-operator.nfd.selector" $ | nindent 8 }}
        role: prune
    spec:
      serviceAccountName: {{ include "gpu-operator.nfd" $ }}-prune
      restartPolicy: Never
      containers:
        - name: nfd-master
          image: {{ $image }}
          command: ["nfd-master"]
          args: ["-prune"]
          securityContext:
            {{- include "gpu-operator.nfd.security" $ | nindent 12 }}
      tolerations:
        {{- $default := list (dict "key" "node-role.kubernetes.io/control-plane" "operator" "Equal" "value" "" "effect" "NoSchedule") }}
        {{- toYaml ($nfd.master.tolerations | default $default) | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "gpu-operator.nfd.security" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: ["ALL"]
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- end }}
