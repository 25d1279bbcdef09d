import {
  documentConflictsIn,
  remedyForConflict,
} from "../../../../components/recipe/machine/documents/conflicts";
import { documentsOf } from "../../../../components/recipe/merge/wanted";

const conflictsIn = (text: string) => documentConflictsIn(new Map(documentsOf(text)));

// `talosctl validate -m metal` v1.14.1, or Validate of its machinery, refuses each of these.
test.each<[machineFields: string, document: string, documentName: string, field: string]>([
  [
    "machine: {features: {stableHostname: true}}",
    "kind: HostnameConfig\nauto: stable",
    "HostnameConfig",
    "machine.features.stableHostname",
  ],
  [
    "machine: {features: {hostDNS: {enabled: true}}}",
    "kind: ResolverConfig\nhostDNS: {enabled: true}",
    "ResolverConfig",
    "machine.features.hostDNS",
  ],
  [
    "cluster: {allowSchedulingOnMasters: false}",
    "kind: KubeNodeConfig",
    "KubeNodeConfig",
    "cluster.allowSchedulingOnMasters",
  ],
  [
    "cluster: {apiServer: {admissionControl: [{name: A}]}}",
    "kind: KubeAuthorizerConfig\nname: node",
    "KubeAuthorizerConfig",
    "cluster.apiServer.admissionControl",
  ],
  [
    "machine: {systemDiskEncryption: {ephemeral: {provider: luks2}}}",
    "kind: VolumeConfig\nname: EPHEMERAL\nencryption: {provider: luks2}",
    "VolumeConfig/EPHEMERAL",
    "machine.systemDiskEncryption.ephemeral",
  ],
  [
    "machine: {systemDiskEncryption: {state: {provider: luks2}}}",
    "kind: VolumeConfig\nname: STATE\nencryption: {provider: luks2}",
    "VolumeConfig/STATE",
    "machine.systemDiskEncryption.state",
  ],
  [
    "machine: {controlPlane: {controllerManager: {disabled: true}}}",
    "kind: KubeControllerManagerConfig",
    "KubeControllerManagerConfig",
    "machine.controlPlane.controllerManager",
  ],
  [
    "machine: {controlPlane: {scheduler: {disabled: true}}}",
    "kind: KubeSchedulerConfig",
    "KubeSchedulerConfig",
    "machine.controlPlane.scheduler",
  ],
  [
    "machine: {kubelet: {extraMounts: [{destination: /a}]}}",
    "kind: KubeletConfig",
    "KubeletConfig",
    "machine.kubelet.extraMounts",
  ],
  [
    "machine: {install: {extraKernelArgs: [a]}}",
    "kind: UnattendedInstallConfig",
    "UnattendedInstallConfig",
    "machine.install.extraKernelArgs",
  ],
])(
  "the fields %s conflict with the document %j",
  (machineFields, document, documentName, field) => {
    expect(
      conflictsIn(`${machineFields}\n---\napiVersion: v1alpha1\n${document}\n`),
    ).toContainEqual({
      document: documentName,
      fields: expect.arrayContaining([field]),
    });
  },
);

test.each([
  [
    "a resolver without hostDNS",
    "machine: {features: {hostDNS: {enabled: true}}}\n---\nkind: ResolverConfig\nnameservers: []",
  ],
  [
    "a volume without encryption",
    "machine: {systemDiskEncryption: {state: {}}}\n---\nkind: VolumeConfig\nname: STATE",
  ],
  [
    "the encryption of another volume",
    "machine: {systemDiskEncryption: {state: {}}}\n---\nkind: VolumeConfig\nname: EPHEMERAL\nencryption: {}",
  ],
  [
    "an empty list of time servers",
    "machine: {time: {disabled: false, servers: []}}\n---\nkind: TimeSyncConfig",
  ],
  ["a configuration without further documents", "machine: {kubelet: {image: a}}"],
])("no conflict is found for %s", (_, text) => {
  expect(conflictsIn(text)).toEqual([]);
});

test.each([
  ["KubeletConfig", "machine.kubelet.extraArgs", "becomes extraArgs of KubeletConfig"],
  ["KubeletConfig", "machine.kubelet.nodeIP", "becomes nodeIP of KubeNodeConfig"],
  ["KubeSpanConfig", "machine.network.kubespan", "becomes the fields of KubeSpanConfig"],
])(
  "the remedy for a %s with %s names the document that replaces the field",
  (document, field, form) =>
    expect(remedyForConflict({ document, fields: [field] })).toBe(
      `write this setting only in documents (${field} ${form}), or leave the ${document} out`,
    ),
);

test("the remedy says if no document replaces a field", () => {
  expect(
    remedyForConflict({ document: "KubeletConfig", fields: ["machine.kubelet.extraMounts"] }),
  ).toBe("leave the KubeletConfig out, because no document replaces machine.kubelet.extraMounts");
});
