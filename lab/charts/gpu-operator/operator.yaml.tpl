apiVersion: apps/v1
kind: Deployment
metadata:
  name: gpu-operator
  {{- include "gpu-operator.namespace" . | nindent 2 }}
  labels:
    {{- include "gpu-operator.labels" . | nindent 4 }}
    nvidia.com/gpu-driver-upgrade-drain.skip: "true"
spec:
  replicas: 1
  selector:
    matchLabels:
      app.kubernetes.io/component: gpu-operator
      app: gpu-operator
  template:
    metadata:
      labels:
        {{- include "gpu-operator.labels" . | nindent 8 }}
        app: gpu-operator
        nvidia.com/gpu-driver-upgrade-drain.skip: "true"
      {{- with .Values.operator.annotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: gpu-operator
      {{- with .Values.operator.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      containers:
        - name: gpu-operator
          image: {{ include "gpu-operator.image" . }}
          imagePullPolicy: {{ .Values.operator.imagePullPolicy }}
          command: ["gpu-operator"]
          args:
            - --leader-elect
            {{- with .Values.operator.logging }}
            {{- if .develMode }}
            - --zap-devel
            {{- else }}
            {{- with .timeEncoding }}
            - --zap-time-encoding={{ . }}
            {{- end }}
            {{- with .level }}
            - --zap-log-level={{ . }}
            {{- end }}
            {{- end }}
            {{- end }}
          env:
            - name: WATCH_NAMESPACE
              value: ""
            - name: OPERATOR_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            {{- with .Values.driver.manager }}
            - name: DRIVER_MANAGER_IMAGE
              value: {{ .repository }}/{{ .image }}:{{ .version }}
            {{- end }}
            {{- if semverCompare ">=26.7.0-0" .Chart.AppVersion }}
            {{- with .Values.validator }}
            - name: VALIDATOR_IMAGE
              value: {{ .repository }}/{{ .image }}:{{ .version | default $.Chart.AppVersion }}
            {{- end }}
            {{- with .Values.operator.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            {{- end }}
          ports:
            - name: metrics
              containerPort: 8080
          livenessProbe:
            httpGet: { path: /healthz, port: 8081 }
            initialDelaySeconds: 15
            periodSeconds: 20
          readinessProbe:
            httpGet: { path: /readyz, port: 8081 }
            initialDelaySeconds: 5
            periodSeconds: 10
          {{- with .Values.operator.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if semverCompare "<26.0.0-0" .Chart.AppVersion }}
          volumeMounts:
            - name: host-os-release
              mountPath: /host-etc/os-release
              readOnly: true
      volumes:
        # This one volume is why the operator does not start in a namespace with Pod Security "baseline".
        - name: host-os-release
          hostPath:
            path: /etc/os-release
          {{- end }}
      {{- with .Values.operator.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.operator.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.operator.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
