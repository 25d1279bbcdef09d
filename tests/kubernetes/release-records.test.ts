import { gzipSync } from "node:zlib";
import type { KubernetesApi } from "../../components/clients/kubernetes/api";
import { clusterObjectsOf } from "../../components/kubernetes/guard/cluster-objects";

/** Helm's record of a release, with this label and this text. */
const recordWith = (label: string, text: object): object => ({
  metadata: { name: "r.v2", uid: "2", labels: { version: "2", status: label } },
  data: {
    release: Buffer.from(gzipSync(JSON.stringify(text)).toString("base64")).toString("base64"),
  },
});

const recordsOf = (secret: object) =>
  clusterObjectsOf({ list: async () => [secret] } as unknown as KubernetesApi).records("gpu", "r");

test("a release has the status of its record's text, as for Helm, and not that of the label", async () => {
  const text = {
    info: { status: "pending-upgrade" },
    chart: { metadata: { name: "gpu-operator" } },
    config: { driver: { enabled: false } },
  };
  expect(await recordsOf(recordWith("failed", text))).toEqual([
    {
      name: "r.v2",
      uid: "2",
      revision: 2,
      status: "pending-upgrade",
      chart: "gpu-operator",
      values: { driver: { enabled: false } },
    },
  ]);
});

test("a record whose text cannot be read has the status of its label", async () => {
  const secret = { ...recordWith("deployed", {}), data: { release: "AAAA" } };
  expect(await recordsOf(secret)).toMatchObject([{ status: "deployed", chart: "" }]);
});
