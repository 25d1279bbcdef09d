import { type Case, podCase, outcomeOf } from "../case";
import { computeScript, inOneLine, oneUnit, hasPassed } from "./plain";

const envvar = podCase(
  "envvar",
  "envvar, for a pod that names the RuntimeClass",
  { envvar: true },
  async ({ gpuLab, pods, seconds }) => {
    const { smokeTestImage: image, runtimeClass } = gpuLab.plan.kubernetes;
    const podSpec = {
      image,
      runtimeClass: runtimeClass.name,
      limits: oneUnit(gpuLab),
      script: computeScript(),
    };
    const pod = await pods.run("envvar", podSpec);
    const observation = `update ${seconds.toFixed(1)} s; ${pod.phase}: ${inOneLine(pod.output)}`;
    return outcomeOf(hasPassed(gpuLab, pod), observation);
  },
);

const markers = podCase(
  "markers",
  "markers of the GPU Operator's legacy recipe",
  { markers: true },
  async ({ gpuLab, pods, seconds }) => {
    const script =
      "cd /validations; ls | tr '\\n' ' ' > /dev/termination-log; rm driver-ready; i=0; " +
      'while [ ! -e driver-ready ] && [ $i -lt 60 ]; do sleep 1; i=$((i+1)); done; echo "back after $i s" >> /dev/termination-log; [ -e driver-ready ]';
    const folders = { "/validations": "/run/nvidia/validations" };
    const image = gpuLab.plan.kubernetes.images.powerLimit;
    const { phase, output } = await pods.run("markers", { image, script, folders }, 90);
    return outcomeOf(phase === "Succeeded", `update ${seconds.toFixed(1)} s; ${inOneLine(output)}`);
  },
);

/** Ways to hand a card to a pod that differ from the default. */
export const handOverCases: readonly Case[] = [envvar, markers];
