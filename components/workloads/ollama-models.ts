import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import {
  anewUnlessDone,
  type GpuToleration,
  labels,
  namedByPulumi,
  podTolerations,
  unprivileged,
} from "../kubernetes/pods";
import { outlasting } from "../kubernetes/timeouts";
import { workloads as images } from "../recipe/facts/data/images.json";
import { type OllamaSpec } from "../recipe/spec/index";

/**
 * Script that pulls a model if the server does not have it yet. `/api/tags` lists the server's models by the names that
 * `fullName` makes.
 */
const pull = `
set -eu
have() { curl -fsS --retry 10 --retry-connrefused --retry-delay 3 "$OLLAMA/api/tags" | grep -qF "\\"name\\":\\"$MODEL\\""; }
if have; then echo "$MODEL is there"; exit 0; fi
echo "pulling $MODEL"
curl -fsS --max-time "$LIMIT" -H 'Content-Type: application/json' -d "$BODY" "$OLLAMA/api/pull"
have || { echo "$MODEL was pulled, but the server does not list it" >&2; exit 1; }
`.trim();

/**
 * Name under which the server lists a model: with its tag, and without the scheme, ollama's own registry and the
 * namespace `library`, e.g. `llama3.2:3b` for `registry.ollama.ai/library/llama3.2:3b`. Source: ollama v0.12.0,
 * types/model/name.go (ParseNameBare, DisplayShortest); server/routes.go, ListHandler.
 */
export function fullName(model: string): string {
  const short = model
    .replace(/^https?:\/\//, "")
    .replace(/^registry\.ollama\.ai\/(?=.*\/)/i, "")
    .replace(/^library\/(?!.*\/)/i, "");
  return /:[^/]*$/.test(short) ? short : `${short}:latest`;
}

/**
 * Creates a Job for each model, which makes the running server pull the model. The package uses no postStart hook for
 * this: the container would not become ready during the pull, and a failed pull would kill the container
 * (ollama-helm#68, #100).
 *
 * @param endpoint URL of the server.
 * @returns The Jobs; none while the server is inactive.
 */
export function ollamaModels(
  name: string,
  spec: OllamaSpec & { readyWithin?: number; tolerations?: GpuToleration[] },
  namespace: pulumi.Input<string>,
  endpoint: pulumi.Input<string>,
  opts: pulumi.CustomResourceOptions,
): k8s.batch.v1.Job[] {
  if (spec.active === false) return [];
  const { readyWithin: limit = 1200, tolerations = [] } = spec;
  // The Job needs no GPU, but all nodes of the cluster may have the stack's taints. Without tolerations the field is
  // left out: Jobs are immutable.
  const tolerating = tolerations.length === 0 ? {} : { tolerations: podTolerations(tolerations) };
  return [...new Set((spec.models ?? []).map(fullName))].sort().map((model) => {
    return new k8s.batch.v1.Job(
      // Two models may differ only in characters that a Kubernetes name cannot have.
      namedByPulumi(`${name} ${model}`, "pull", model),
      {
        metadata: { namespace, labels: labels("ollama-model"), annotations: anewUnlessDone },
        spec: {
          backoffLimit: 4, // a download may break off; ollama goes on where it stopped
          activeDeadlineSeconds: limit,
          template: {
            metadata: { labels: labels("ollama-model") },
            spec: { ...pullPod(model, limit, endpoint, spec.pullImage), ...tolerating },
          },
        },
      },
      pulumi.mergeOptions(opts, { customTimeouts: outlasting(limit) }),
    );
  });
}

const pullPod = (
  model: string,
  limit: number,
  endpoint: pulumi.Input<string>,
  image = images.modelPull,
): k8s.types.input.core.v1.PodSpec => ({
  restartPolicy: "OnFailure",
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  securityContext: { runAsNonRoot: true, runAsUser: 65534 },
  containers: [
    {
      name: "pull",
      image,
      command: ["/bin/sh", "-c", pull],
      env: [
        { name: "OLLAMA", value: endpoint },
        { name: "MODEL", value: model },
        { name: "BODY", value: JSON.stringify({ model, stream: false }) },
        { name: "LIMIT", value: String(limit) },
      ],
      securityContext: { ...unprivileged, readOnlyRootFilesystem: true },
      resources: {
        requests: { cpu: "10m", memory: "16Mi" },
        limits: { cpu: "200m", memory: "64Mi" },
      },
    },
  ],
});
