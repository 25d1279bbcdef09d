import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesRecipe } from "../recipe/types";
import { daemonLabel } from "../recipe/machine/daemon-labels";
import { shortHash } from "../recipe/short-hash";
import type { ReplacedWith } from "./replaced-with";
import { daemonSet, labels, unprivileged } from "./pods";

/**
 * Script that writes the marker files while the driver is loaded. It finds the driver in /proc, which every container
 * has, so it needs no mount of the host for that. It writes each file under another name and then renames it, because
 * the operands read `driver-ready` as soon as it exists. It loops because the files disappear: /run is a tmpfs, and a
 * starting validator deletes them (gpu-operator cmd/nvidia-validator/main.go).
 */
const script = `
trap 'exit 0' TERM
validations=/run/nvidia/validations
while true; do
  if [ -r /proc/driver/nvidia/version ]; then
    mkdir -p "$validations"
    for marker in $MARKERS; do
      if ! cmp -s "/markers/$marker" "$validations/$marker"; then
        cp "/markers/$marker" "$validations/$marker.new" && mv "$validations/$marker.new" "$validations/$marker"
        echo "wrote $marker"
      fi
    done
  else
    echo "the NVIDIA driver is not loaded (no /proc/driver/nvidia/version): no markers"
  fi
  sleep 30 & wait $!
done
`.trim();

/**
 * Readiness probe: it passes if the marker files have the wanted content. The MIG manager needs the right content at
 * once, because it reads `driver-ready` only when it starts.
 */
const ready =
  'for marker in $MARKERS; do cmp -s "/markers/$marker" "/run/nvidia/validations/$marker" || exit 1; done';

/**
 * Creates the DaemonSet that keeps the marker files under `/run/nvidia/validations`. The GPU Operator's operands wait
 * for these files. On Talos ≤ 1.12 the operator's validator would never write them, because it looks for NVIDIA's
 * libraries in folders that Talos does not use (gpu-operator#1687). A node label keeps the validator off the node.
 *
 * @returns undefined if the release's own validator writes the files.
 */
export function validationMarkers(
  name: string,
  recipe: KubernetesRecipe,
  { dependent }: ReplacedWith,
  opts: pulumi.CustomResourceOptions,
): (k8s.core.v1.ConfigMap | k8s.apps.v1.DaemonSet)[] {
  if (recipe.markers.length === 0) return [];
  const component = "nvidia-validation-markers";
  const content = Object.fromEntries(recipe.markers.map((marker) => [marker.file, marker.content]));
  const files = new k8s.core.v1.ConfigMap(
    `${name}-markers-content`,
    {
      metadata: { name: component, namespace: recipe.namespace, labels: labels(component) },
      data: dependent(content),
    },
    opts,
  );
  const pod: k8s.types.input.core.v1.PodSpec = {
    nodeSelector: { ...recipe.nodeSelector, [daemonLabel.validationMarkers]: "true" },
    containers: [
      {
        name: "markers",
        image: recipe.images.validationMarkers,
        command: ["/bin/sh", "-c", script],
        env: [{ name: "MARKERS", value: recipe.markers.map((marker) => marker.file).join(" ") }],
        // Root, because root owns the host's /run/nvidia; but without any privilege beyond that.
        securityContext: { ...unprivileged, runAsUser: 0, readOnlyRootFilesystem: true },
        resources: {
          requests: { cpu: "5m", memory: "8Mi" },
          limits: { cpu: "200m", memory: "32Mi" },
        },
        // A busy node starts the shell late: within the default second the probe failed on Talos v1.12.6 in QEMU,
        // although the files existed.
        readinessProbe: {
          exec: { command: ["/bin/sh", "-c", ready] },
          periodSeconds: 5,
          timeoutSeconds: 5,
        },
        volumeMounts: [
          { name: "markers", mountPath: "/markers", readOnly: true },
          { name: "run-nvidia", mountPath: "/run/nvidia" },
        ],
      },
    ],
    volumes: [
      { name: "markers", configMap: { name: component } },
      // The parent folder, because some operands mount it with `type: Directory`, so it must exist before they start.
      { name: "run-nvidia", hostPath: { path: "/run/nvidia", type: "DirectoryOrCreate" } },
    ],
  };
  const markers = daemonSet(
    `${name}-markers`,
    component,
    recipe,
    pod,
    pulumi.mergeOptions(opts, { dependsOn: [files] }),
    // Changed content replaces the pods, which the release waits for; a mounted ConfigMap changes a minute later.
    { "talos-gpu/content": shortHash(JSON.stringify(content), 12) },
  );
  return [files, markers];
}
