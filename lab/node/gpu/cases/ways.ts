import { held, wrong, type Case } from "../case";
import { withPods } from "../pods";
import { computed, computing, inOneLine, oneUnit } from "./plain";

const mps: Case = {
  id: "mps",
  title: "MPS is refused at preview",
  // Its daemon itself is not started: it sets every card's compute mode (k8s-device-plugin v0.19.3, cmd/mps-control-daemon/mps/daemon.go).
  run: async (stand, say) => {
    await stand.become({}, say);
    const said = await stand.refusal({ mps: 4 }, say);
    const reason = /sharing\.mps: .*?(?=; error:|$)/.exec(said)?.[0];
    return reason === undefined ? wrong(said || "the preview succeeds") : held(reason);
  },
};

const cdi: Case = {
  id: "cdi-cri",
  title: "cdi-cri, with the driver root that the recipe gives",
  run: (stand, say) =>
    withPods(stand, async (pods) => {
      const { seconds } = await stand.become({ cdi: true }, say);
      const { smokeTestImage: image, runtimeClass, release } = stand.plan.kubernetes;
      const root = `nvidiaDriverRoot ${String(release.values["nvidiaDriverRoot"])}, update ${seconds.toFixed(1)} s`;
      const test = { image, limits: oneUnit(stand), script: computing() };
      const tries = { "cdi-class": { ...test, runtimeClass: runtimeClass.name }, "cdi-no-class": test };
      const seen: string[] = [];
      let right = true;
      for (const [name, spec] of Object.entries(tries)) {
        const { phase, said } = await pods.run(name, spec);
        const well = phase === "Succeeded" && (stand.cards === undefined || computed(said));
        right &&= well;
        seen.push(
          `${name === "cdi-class" ? "with" : "without"} a RuntimeClass: ${well ? "passes" : `${phase}: ${inOneLine(said)}`}`,
        );
      }
      return (right ? held : wrong)([root, ...seen].join("; "));
    }),
};

const markers: Case = {
  id: "markers",
  title: "markers of the GPU Operator's legacy recipe",
  run: async (stand, say) => {
    const { seconds } = await stand.become({ markers: true }, say);
    return withPods(stand, async (pods) => {
      const { images } = stand.plan.kubernetes;
      const script =
        "cd /validations; ls | tr '\\n' ' ' > /dev/termination-log; rm driver-ready; i=0; " +
        'while [ ! -e driver-ready ] && [ $i -lt 60 ]; do sleep 1; i=$((i+1)); done; echo "back after $i s" >> /dev/termination-log; [ -e driver-ready ]';
      const folders = { "/validations": "/run/nvidia/validations" };
      const { phase, said } = await pods.run("markers", { image: images.powerLimit, script, folders }, 90);
      return (phase === "Succeeded" ? held : wrong)(`update ${seconds.toFixed(1)} s; ${inOneLine(said)}`);
    });
  },
};

/** Ways to share a card or to hand it to a pod that differ from the default. */
export const wayCases: readonly Case[] = [mps, cdi, markers];
