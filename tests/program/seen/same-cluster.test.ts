import { ofOneCluster } from "../../../components/program/seen/same-cluster";
import { certificate, node, strange } from "../preflight/stand";

describe("talosconfig and kubeconfig", () => {
  const configuration = (ca: string): string =>
    `machine: {}\n---\ncluster: {ca: {crt: ${Buffer.from(certificate(ca)).toString("base64")}}}\n`;
  const machine = {
    machine: "gpu-1",
    address: "10.0.0.1",
    bootId: "boot-1",
    configuration: configuration("QQ=="),
  };
  test.each<[string, Parameters<typeof ofOneCluster>, string]>([
    [
      "a node has the boot id, by whatever name and way",
      [[machine], { authority: certificate("Qg=="), nodes: [node({ name: "x" })] }],
      "yes",
    ],
    [
      "the authority is the machine's",
      [[machine], { authority: certificate("QQ=="), nodes: [strange] }],
      "yes",
    ],
    [
      "a node has name and address",
      [[machine], { authority: certificate("Qg=="), nodes: [node({ bootId: "old" })] }],
      "yes",
    ],
    [
      "nothing speaks for it",
      [[machine], { authority: certificate("Qg=="), nodes: [strange] }],
      "no",
    ],
    [
      "the kubeconfig names no authority",
      [[machine], { authority: undefined, nodes: [strange] }],
      "unknown",
    ],
    ["no machine answers", [[], { authority: certificate("Qg=="), nodes: [strange] }], "unknown"],
    [
      "the cluster has no node yet",
      [[machine], { authority: certificate("Qg=="), nodes: [] }],
      "unknown",
    ],
  ])("%s", (_, sides, verdict) => expect(ofOneCluster(...sides)).toBe(verdict));
});
