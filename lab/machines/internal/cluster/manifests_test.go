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
