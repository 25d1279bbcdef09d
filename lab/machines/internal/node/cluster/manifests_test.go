package cluster

const pluginManifest = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      runtimeClassName: nvidia
      priorityClassName: system-node-critical
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.4
          command: [nvidia-device-plugin]
`

const smokeTest = `
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: kube-system}
spec:
  backoffLimit: 3
  template:
    spec:
      runtimeClassName: nvidia
      restartPolicy: Never
      containers:
        - name: smoke-test
          image: nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0
          resources: {limits: {nvidia.com/gpu: "1"}}
`

const workloads = `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models, namespace: kube-system}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ollama, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ollama}}
  template:
    metadata: {labels: {app: ollama}}
    spec:
      runtimeClassName: nvidia
      containers:
        - name: ollama
          image: ollama/ollama:0.32.15
          env: [{name: OLLAMA_MODELS, value: /models/all}]
          ports: [{name: http, containerPort: 11434}]
          startupProbe: {httpGet: {path: /, port: http}, periodSeconds: 5, failureThreshold: 60}
          readinessProbe: {httpGet: {path: /api/version, port: http}, periodSeconds: 5}
          resources: {limits: {nvidia.com/gpu: "1"}}
          volumeMounts: [{name: models, mountPath: /models}]
      volumes: [{name: models, persistentVolumeClaim: {claimName: models}}]
---
apiVersion: v1
kind: Service
metadata: {name: ollama, namespace: kube-system}
spec: {selector: {app: ollama}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: pull, namespace: kube-system}
spec:
  backoffLimit: 4
  template:
    spec:
      restartPolicy: OnFailure
      containers:
        - name: pull
          image: curlimages/curl:8.16.0
          env: [{name: URL, value: "http://ollama.kube-system.svc"}]
          command: ["/bin/sh", "-c"]
          args:
            - |
              set -eu
              until curl -fsS "$URL/" >/dev/null; do sleep 2; done
              curl -fsS -d '{"model":"llama3.2:3b","stream":false}' "$URL/api/pull"
              curl -fsS "$URL/api/tags"
---
apiVersion: v1
kind: Pod
metadata: {name: hook, namespace: kube-system}
spec:
  runtimeClassName: nvidia
  containers:
    - name: hook
      image: busybox:1.37
      command: [sleep, infinity]
      lifecycle: {postStart: {exec: {command: ["true"]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: script, namespace: kube-system}
spec:
  containers:
    - name: script
      image: busybox:1.37
      command: ["/bin/sh", "-c", "echo pid $$ > /host/lab/marker; while true; do sleep 60; done"]
      lifecycle: {preStop: {exec: {command: ["/bin/sh", "-c", "echo stopped > /host/lab/marker"]}}}
      volumeMounts: [{name: run, mountPath: /host/lab}]
  volumes: [{name: run, hostPath: {path: /run/lab, type: DirectoryOrCreate}}]
`
