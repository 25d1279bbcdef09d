import { parseAllDocuments } from "yaml";

/** The content of a configuration, document by document. */
export function contentOf(text: string): unknown[] {
  const documents = parseAllDocuments(text);
  return (Array.isArray(documents) ? documents : [])
    .map((document) => document.toJS() as unknown)
    .filter((value) => value !== null && value !== undefined);
}

/** A typical configuration: with comments, further documents, and files and modules of other tools. */
export const talosConfiguration = `# made by talhelper
version: v1alpha1 # Indicates the schema used to decode the contents.
debug: false
machine:
    type: worker # Defines the role of the machine within the cluster.
    token: abcdef.0123456789abcdef

    # Used to provide additional options to the kubelet.
    kubelet:
        image: ghcr.io/siderolabs/kubelet:v1.34.1
        defaultRuntimeSeccompProfileEnabled: true
    install:
        disk: /dev/nvme0n1 # The disk used for installations.
        image: ghcr.io/siderolabs/installer:v1.11.1
    sysctls:
        vm.nr_hugepages: "1024" # for the database
    kernel:
        modules:
            - name: drbd
              parameters:
                  - usermode_helper=disabled
    files:
        - content: |
              # Some comment of ours
              key = value
          permissions: 0o600
          path: /var/lib/app.conf
          op: create
cluster:
    controlPlane:
        endpoint: https://10.0.0.10:6443
---
# Keep this link up.
apiVersion: v1alpha1
kind:   LinkConfig
name:   "eth0"
mtu: 9000
---
apiVersion: v1alpha1
kind: ExtensionServiceConfig
name: nut-client
configFiles:
  - content: MONITOR ups@host
    mountPath: /usr/local/etc/nut/upsmon.conf
`;
