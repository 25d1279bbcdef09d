import { compareClusters } from "../../../components/program/seen/same-cluster";
import { certificate, node, foreignNode } from "../preflight/run-preflight";

describe("talosconfig and kubeconfig", () => {
  const configuration = (ca: string): string =>
    `machine: {}\n---\ncluster: {ca: {crt: ${Buffer.from(certificate(ca)).toString("base64")}}}\n`;
  const machine = {
    machine: "gpu-1",
    address: "10.0.0.1",
    bootId: "boot-1",
    configuration: configuration("QQ=="),
  };
  test.each<[string, Parameters<typeof compareClusters>, string]>([
    [
      "belong to one cluster if a node has the machine's boot ID",
      [[machine], { authority: certificate("Qg=="), nodes: [node({ name: "x" })] }],
      "yes",
    ],
    [
      "belong to one cluster if the kubeconfig has the machine's CA",
      [[machine], { authority: certificate("QQ=="), nodes: [foreignNode] }],
      "yes",
    ],
    [
      "belong to one cluster if a node has the machine's name and address",
      [[machine], { authority: certificate("Qg=="), nodes: [node({ bootId: "old" })] }],
      "yes",
    ],
    [
      "belong to two clusters if neither the CA nor a node is the machine's",
      [[machine], { authority: certificate("Qg=="), nodes: [foreignNode] }],
      "no",
    ],
    [
      "may belong to two clusters if the kubeconfig has no CA",
      [[machine], { authority: undefined, nodes: [foreignNode] }],
      "unknown",
    ],
    [
      "may belong to two clusters if no machine answers",
      [[], { authority: certificate("Qg=="), nodes: [foreignNode] }],
      "unknown",
    ],
    [
      "may belong to two clusters if the cluster has no node yet",
      [[machine], { authority: certificate("Qg=="), nodes: [] }],
      "unknown",
    ],
  ])("%s", (_, args, verdict) => expect(compareClusters(...args)).toBe(verdict));
});
