import type * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { daemonLabel, powerLimitLabel } from "../recipe/machine/daemon-labels";
import type { KubernetesRecipe, MachineRecipe } from "../recipe/types";
import { administrator, allCardsFor, classOf, daemonSet, kubernetesName } from "./pods";

/** Properties that the script reads from every card, in their order. */
const query = "index,power.limit,power.min_limit,power.max_limit,power.draw,utilization.gpu";

/** Seconds between two checks of the cards. */
const checkSeconds = 1800;

/**
 * Script that sets the power limit of every card. It checks the limits regularly, because a reboot or a reload of the
 * driver resets them (nvidia-smi manual, --power-limit). If a card does not accept the limit, the script fails with a
 * message that names the card's range. Each check also logs the card's utilisation, which helps to watch shared cards.
 */
const script = `
set -u
trap 'exit 0' TERM
fail() { echo "power limit: $1" >&2; rm -f /tmp/limited; exit 1; }
while true; do
  nvidia-smi -pm 1 >/dev/null || fail "nvidia-smi cannot switch persistence mode on: is the driver loaded?"
  cards=$(nvidia-smi --query-gpu=$QUERY --format=csv,noheader,nounits) ||
    fail "nvidia-smi does not report the cards' limits"
  while IFS=', ' read -r card now min max draw busy; do
    awk -v w="$WATTS" -v min="$min" -v max="$max" 'BEGIN { exit !(w >= min && w <= max) }' ||
      fail "card $card takes $min to $max W, not $WATTS W: change powerLimit of this machine"
    if ! awk -v w="$WATTS" -v now="$now" 'BEGIN { exit !(w == now) }'; then
      nvidia-smi -i "$card" -pl "$WATTS" >/dev/null || fail "card $card does not take $WATTS W"
      echo "card $card: $now W -> $WATTS W"
    fi
    echo "card $card: limit $WATTS W, draws $draw W, utilisation $busy %"
  done <<< "$cards"
  touch /tmp/limited
  sleep ${checkSeconds} & wait $!
done
`.trim();

/**
 * Creates the power limits of the cards: one DaemonSet for each distinct limit, on the machines with this limit. The
 * GPU Operator cannot set power limits (gpu-operator#942).
 *
 * @param machines the machines with GPUs.
 */
export function powerLimits(
  name: string,
  recipe: KubernetesRecipe,
  machines: MachineRecipe[],
  opts: pulumi.CustomResourceOptions,
): k8s.apps.v1.DaemonSet[] {
  const limits = [...new Set(machines.flatMap((machine) => machine.powerLimit ?? []))].sort(
    (a, b) => a - b,
  );
  return limits.map((watts) => {
    const pod: k8s.types.input.core.v1.PodSpec = {
      ...classOf(recipe),
      nodeSelector: { [daemonLabel.powerLimit]: powerLimitLabel(watts) },
      containers: [
        {
          name: "power-limit",
          // An image without CUDA: the NVIDIA runtime provides the driver's own nvidia-smi, so no CUDA release has to
          // fit the driver.
          image: recipe.images.powerLimit,
          command: ["/bin/bash", "-c", script],
          terminationMessagePolicy: "FallbackToLogsOnError", // the script's last line then stands in the pod's status
          env: [
            { name: "WATTS", value: String(watts) },
            { name: "QUERY", value: query },
            // All cards without a request, because the pod manages the cards and does not compute on them.
            { name: "NVIDIA_VISIBLE_DEVICES", value: "all" },
            { name: "NVIDIA_DRIVER_CAPABILITIES", value: "utility" },
          ],
          securityContext: { ...administrator, readOnlyRootFilesystem: true }, // a limit is an administrator's call
          resources: {
            requests: { cpu: "5m", memory: "32Mi" },
            limits: { cpu: "200m", memory: "128Mi" },
          },
          readinessProbe: {
            exec: { command: ["test", "-f", "/tmp/limited"] },
            periodSeconds: 5,
            timeoutSeconds: 5,
          },
          volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
        },
      ],
      volumes: [{ name: "tmp", emptyDir: { sizeLimit: "1Mi" } }],
    };
    const component = kubernetesName("nvidia-power-limit", `${watts}w`);
    return daemonSet(
      `${name}-power-limit-${watts}w`,
      component,
      recipe,
      pod,
      opts,
      allCardsFor("power-limit", recipe),
    );
  });
}
