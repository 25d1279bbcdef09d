import { held, wrong } from "../../outcome";
import type { Case } from "../case";
import { withPods } from "../pods";
import { computing, inOneLine, oneUnit, passed } from "./plain";

const envvar: Case = {
  id: "envvar",
  title: "envvar, for a pod that names the RuntimeClass",
  run: (stand, say) =>
    withPods(stand, async (pods) => {
      const { seconds } = await stand.become({ envvar: true }, say);
      const { smokeTestImage: image, runtimeClass } = stand.plan.kubernetes;
      const test = { image, runtimeClass: runtimeClass.name, limits: oneUnit(stand), script: computing() };
      const pod = await pods.run("envvar", test);
      const said = `update ${seconds.toFixed(1)} s; ${pod.phase}: ${inOneLine(pod.said)}`;
      return (passed(stand, pod) ? held : wrong)(said);
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

/** Ways to hand a card to a pod that differ from the default. */
export const wayCases: readonly Case[] = [envvar, markers];
