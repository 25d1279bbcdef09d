import { didStackSetStorageClass } from "../../../components/program/cluster/states";

/** An entry of a claim's `managedFields`, in short. */
type FieldsEntry = [manager: string, operation: string, fields: object];

const storageClass = { "f:spec": { "f:storageClassName": {} } };
const size = { "f:spec": { "f:resources": { "f:requests": { ".": {}, "f:storage": {} } } } };

// The entries are as Kubernetes v1.36.3 wrote them.
const stackSetClass = (entries: FieldsEntry[]): boolean =>
  didStackSetStorageClass(
    entries.map(([manager, operation, fieldsV1]) => ({ manager, operation, fieldsV1 })),
  );

test.each<[string, FieldsEntry[]]>([
  ["has not been updated since its creation", [["pulumi-kubernetes", "Update", storageClass]]],
  ["has been updated since its creation", [["talos-gpu", "Apply", storageClass]]],
])("the stack set the StorageClass of a claim that %s", (_, entries) =>
  expect(stackSetClass(entries)).toBe(true),
);

test.each<[string, FieldsEntry[]]>([
  ["got the cluster's default when it was created", [["pulumi-kubernetes", "Update", size]]],
  [
    "got the cluster's default later",
    [
      ["pulumi-kubernetes", "Update", size],
      ["kube-controller-manager", "Update", storageClass],
    ],
  ],
  ["has no managed fields", []],
])("the stack did not set the StorageClass of a claim that %s", (_, entries) =>
  expect(stackSetClass(entries)).toBe(false),
);
