import { type Case, podCase, held, wrong } from "../case";
import { computing, inOneLine, oneUnit, passed } from "./plain";

const envvar = podCase(
  "envvar",
  "envvar, for a pod that names the RuntimeClass",
  { envvar: true },
  async ({ stand, pods, seconds }) => {
    const { smokeTestImage: image, runtimeClass } = stand.plan.kubernetes;
    const test = {
      image,
      runtimeClass: runtimeClass.name,
      limits: oneUnit(stand),
      script: computing(),
    };
    const pod = await pods.run("envvar", test);
    const said = `update ${seconds.toFixed(1)} s; ${pod.phase}: ${inOneLine(pod.said)}`;
    return (passed(stand, pod) ? held : wrong)(said);
  },
);

const markers = podCase(
  "markers",
  "markers of the GPU Operator's legacy recipe",
  { markers: true },
  async ({ stand, pods, seconds }) => {
    const script =
      "cd /validations; ls | tr '\\n' ' ' > /dev/termination-log; rm driver-ready; i=0; " +
      'while [ ! -e driver-ready ] && [ $i -lt 60 ]; do sleep 1; i=$((i+1)); done; echo "back after $i s" >> /dev/termination-log; [ -e driver-ready ]';
    const folders = { "/validations": "/run/nvidia/validations" };
    const image = stand.plan.kubernetes.images.powerLimit;
    const { phase, said } = await pods.run("markers", { image, script, folders }, 90);
    return (phase === "Succeeded" ? held : wrong)(
      `update ${seconds.toFixed(1)} s; ${inOneLine(said)}`,
    );
  },
);

/** Ways to hand a card to a pod that differ from the default. */
export const handOverCases: readonly Case[] = [envvar, markers];
