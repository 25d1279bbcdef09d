import { isClassGiven } from "../../../components/program/cluster/states";

type Entry = [manager: string, operation: string, fields: object];

const storageClass = { "f:spec": { "f:storageClassName": {} } };
const size = { "f:spec": { "f:resources": { "f:requests": { ".": {}, "f:storage": {} } } } };

// Entries as Kubernetes v1.36.3 was seen to write them.
test.each<[string, Entry[], boolean]>([
  [
    "given by the stack, and not updated since",
    [["pulumi-kubernetes", "Update", storageClass]],
    true,
  ],
  ["given by the stack, and updated since", [["talos-gpu", "Apply", storageClass]], true],
  ["the cluster's default from the beginning", [["pulumi-kubernetes", "Update", size]], false],
  [
    "filled in later",
    [
      ["pulumi-kubernetes", "Update", size],
      ["kube-controller-manager", "Update", storageClass],
    ],
    false,
  ],
  ["of a claim without a history", [], false],
])("detects whether the stack set a claim's class: %s", (_, entries, given) => {
  expect(
    isClassGiven(
      entries.map(([manager, operation, fieldsV1]) => ({ manager, operation, fieldsV1 })),
    ),
  ).toBe(given);
});
