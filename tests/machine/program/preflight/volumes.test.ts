import type { BoundClaim } from "../../../../components/clients/kubernetes/asked-cluster";
import type { PreflightTask } from "../../../../components/machine/program/preflight/task";
import { lostVolumes } from "../../../../components/machine/program/preflight/volumes";
import { ask, type Stand } from "./stand";

const models = {
  field: "workloads.ollama",
  owner: "shop/prod/lab-ollama-models",
  name: "ollama-models",
  namespace: "ollama",
};
const claim = (changes: Partial<BoundClaim> = {}): BoundClaim => ({
  ...{ name: "ollama-models", namespace: "ollama", owner: "shop/prod/lab-ollama-models 6f1c" },
  ...{ givenClass: undefined, storageClass: "slow" },
  ...changes,
});

test.each<[string, Partial<Stand>]>([
  ["as it is", { volumes: [models], claims: [claim()] }],
  [
    "with the class that it was given",
    { volumes: [{ ...models, storageClass: "slow" }], claims: [claim({ givenClass: "slow" })] },
  ],
  [
    "that is another stack's",
    { volumes: [{ ...models, namespace: "ai" }], claims: [claim({ owner: "shop/test/x 1" })] },
  ],
  ["that is yet to come", { volumes: [models], claims: [] }],
  [
    "of another cluster of this very program",
    { volumes: [{ ...models, namespace: "ai" }], claims: [claim({ owner: "shop/prod/other-ollama-models 6f1c" })] },
  ],
  ["of a workload that is taken out", { volumes: [], claims: [claim()] }],
])("a volume %s is no reason to end", async (_, changes) => {
  expect((await ask(changes)).outcome).toMatchObject({ together: expect.any(String) });
});

test.each<[string, PreflightTask["volumes"][number], BoundClaim, RegExp]>([
  ["the class that it has", { ...models, storageClass: "fast" }, claim({ givenClass: "slow" }), /^write slow; /],
  ["no class, as it had none", { ...models, storageClass: "fast" }, claim(), /^leave storageClass out; /],
  ["the namespace that it is in", { ...models, namespace: "ai" }, claim(), /^write ollama; /],
])("what to write for a volume that would be lost: %s", async (_, volume, there, remedy) => {
  const mark = { annotation: "talos-gpu/owner", ours: "shop/prod/" };
  const boundClaims = () => Promise.resolve([there]);
  const found = await lostVolumes({ volumes: [volume], mark }, { boundClaims });
  expect(found).toEqual([expect.objectContaining({ remedy: expect.stringMatching(remedy) })]);
  expect(found[0]!.why).toMatch(/deleted with its data/);
});

test.each<[string, Partial<Stand>, RegExp]>([
  [
    "a volume that would be replaced for another class",
    { volumes: [{ ...models, storageClass: "fast" }], claims: [claim({ givenClass: "slow" })] },
    /^workloads\.ollama\.storageClass: is fast, and claim ollama\/ollama-models was made with slow$/,
  ],
  [
    "a volume that would be replaced, as a class is said that was the cluster's",
    { volumes: [{ ...models, storageClass: "slow" }], claims: [claim()] },
    /storageClass: is slow, and .* was made with that of the cluster, slow$/,
  ],
  [
    "a volume that would be replaced, as its class is left to the cluster",
    { volumes: [models], claims: [claim({ givenClass: "slow" })] },
    /storageClass: is left to the cluster, and .* was made with slow$/,
  ],
  [
    "a volume that would be left in another namespace, and deleted there",
    { volumes: [{ ...models, namespace: "ai" }], claims: [claim()] },
    /^workloads\.ollama\.namespace: is ai, and the workload's volume is in ollama$/,
  ],
])("what would be lost ends it: %s", async (_, changes, said) => {
  expect((await ask(changes)).outcome).toEqual([expect.stringMatching(said)]);
});
