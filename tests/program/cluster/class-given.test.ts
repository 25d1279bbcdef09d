import { isClassGiven } from "../../../components/program/cluster/states";

type Entry = [manager: string, operation: string, fields: object];

const storageClass = { "f:spec": { "f:storageClassName": {} } };
const size = { "f:spec": { "f:resources": { "f:requests": { ".": {}, "f:storage": {} } } } };

// The entries are as Kubernetes v1.36.3 wrote them.
const isGiven = (entries: Entry[]): boolean =>
  isClassGiven(entries.map(([manager, operation, fieldsV1]) => ({ manager, operation, fieldsV1 })));

test.each<[string, Entry[]]>([
  ["has not been updated since", [["pulumi-kubernetes", "Update", storageClass]]],
  ["has been updated since", [["talos-gpu", "Apply", storageClass]]],
])("the stack set the class of a claim that %s", (_, entries) =>
  expect(isGiven(entries)).toBe(true),
);

test.each<[string, Entry[]]>([
  ["got the cluster's default when it was created", [["pulumi-kubernetes", "Update", size]]],
  [
    "got the cluster's default later",
    [
      ["pulumi-kubernetes", "Update", size],
      ["kube-controller-manager", "Update", storageClass],
    ],
  ],
  ["has no managed fields", []],
])("the stack did not set the class of a claim that %s", (_, entries) =>
  expect(isGiven(entries)).toBe(false),
);
