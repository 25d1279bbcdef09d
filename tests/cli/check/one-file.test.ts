import type { FileFinding } from "../../../cli/check/judge-files";
import { yaml } from "../../support/yaml";
import { runCheck, folderWith } from "./support";

/** A file of a user's repository. */
interface UserFile {
  /** Releases for which the file is checked. Default: that of the file, or all known ones. */
  talos?: string[];
  file: string;
  /** Everything that `check` finds in it, in order. */
  findings: { line: number; check: string; problem: RegExp }[];
  /** Whether `check` skips the file, since nothing in it is for Talos or an NVIDIA chart. Default: no. */
  isSkipped?: boolean;
}

async function expectFindings({
  talos = [],
  file,
  findings: expected,
  isSkipped = false,
}: UserFile): Promise<void> {
  const folder = folderWith({ "file.yaml": file });
  const { status, stdout } = await runCheck(
    folder,
    "--json",
    ...talos.map((release) => `--talos=${release}`),
  );
  const { findings, checked } = JSON.parse(stdout) as {
    findings: FileFinding[];
    checked: number;
  };
  // A file that was not checked has no findings either.
  expect({ isSkipped: checked === 0 }).toEqual({ isSkipped });
  expect(findings.map(({ line, check, problem }) => ({ line, check, problem }))).toEqual(
    expected.map((finding) => ({
      ...finding,
      problem: expect.stringMatching(finding.problem) as string,
    })),
  );
  expect(status).toBe(expected.length > 0 ? 1 : 0);
  if (talos.length > 1) expect(findings[0]?.talos).toEqual(["v1.13.6"]);
}

const podWithNvidiaClass = yaml`
  apiVersion: v1
  kind: Pod
  metadata: { name: whisper }
  spec:
    runtimeClassName: nvidia
    containers: [{ name: whisper, image: busybox, resources: { limits: { nvidia.com/gpu: 1 } } }]
`;

describe("check finds", () => {
  test("a misspelt field of a machine configuration", () =>
    expectFindings({
      file: yaml`
        machine:
          sysctl:
            a: 1
      `,
      findings: [{ line: 2, check: "patch-schema", problem: /^machine\.sysctl is not a field/ }],
    }));

  test("a document that one of two releases does not have", () =>
    expectFindings({
      talos: ["v1.13.6", "v1.14.0"],
      file: yaml`
        apiVersion: v1alpha1
        kind: KubeNodeConfig
        labels: {a: b}
      `,
      findings: [
        {
          line: 2,
          check: "patch-schema",
          problem: /KubeNodeConfig, which Talos 1\.13 does not have/,
        },
      ],
    }));

  test("a key that containerd 2 no longer reads", () =>
    expectFindings({
      file: yaml`
        machine:
          files:
            - op: create
              path: /etc/cri/conf.d/20-customization.part
              content: |
                [plugins."io.containerd.grpc.v1.cri"]
                  enable_unprivileged_ports = true
      `,
      findings: [{ line: 6, check: "containerd-toml", problem: /io\.containerd\.grpc\.v1\.cri/ }],
    }));

  test("a file that Talos does not create", () =>
    expectFindings({
      file: yaml`
        machine:
          files:
            - op: create
              path: /etc/cri/conf.d/30-nvidia.part
              content: a
      `,
      findings: [{ line: 4, check: "machine-file-create", problem: /outside \/var/ }],
    }));

  test("an extension of another driver branch", () =>
    expectFindings({
      file: yaml`
        customization:
          systemExtensions:
            officialExtensions:
              - siderolabs/nvidia-container-toolkit-lts
              - siderolabs/nvidia-open-gpu-kernel-modules-production
      `,
      findings: [
        { line: 5, check: "driver-branches", problem: /kernel modules are of branch production/ },
      ],
    }));

  test("an unknown extension in the second schematic of a file", () =>
    expectFindings({
      file: yaml`
        # gpu
        customization: { extraKernelArgs: [quiet] }
        ---
        # other
        customization:
          systemExtensions:
            officialExtensions:
              - siderolabs/iscsi-tool
      `,
      findings: [
        {
          line: 8,
          check: "extension-name",
          problem: /no official extension "siderolabs\/iscsi-tool"/,
        },
      ],
    }));

  test("a chart value that does not exist", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        apiVersion: helm.toolkit.fluxcd.io/v2
        kind: HelmRelease
        metadata: { name: gpu-operator, namespace: gpu }
        spec:
          chart: { spec: { chart: gpu-operator, version: v26.3.3 } }
          values:
            driver: { enabled: false }
            toolkit: { enabled: false }
            operator: { defaultRuntime: containerd }
      `,
      findings: [
        {
          line: 9,
          check: "chart-values",
          problem: /^operator\.defaultRuntime: .*does not have this value/,
        },
      ],
    }));

  test("a pod that takes all cards", () =>
    expectFindings({
      file: yaml`
        apiVersion: v1
        kind: Pod
        metadata: { name: plex }
        spec:
          containers:
            - image: plex
              resources: { limits: { nvidia.com/gpu: 1 } }
              env:
                - name: NVIDIA_VISIBLE_DEVICES
                  value: all
      `,
      findings: [
        { line: 9, check: "visible-devices", problem: /^env\.NVIDIA_VISIBLE_DEVICES: is set/ },
      ],
    }));

  test("a container of bjw-s' app-template that takes all cards", () =>
    expectFindings({
      file: yaml`
        kind: HelmRelease
        spec:
          values:
            controllers:
              plex:
                containers:
                  app:
                    image: { repository: plex, tag: latest }
                    env:
                      NVIDIA_VISIBLE_DEVICES: all
                    resources: { limits: { nvidia.com/gpu: 1 } }
                  side:
                    env: { NVIDIA_VISIBLE_DEVICES: all }
      `,
      findings: [
        { line: 10, check: "visible-devices", problem: /^env\.NVIDIA_VISIBLE_DEVICES: is set/ },
      ],
    }));

  test("a misspelt field in a second document, after SOPS' addition to the first", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        machine:
          type: worker
        sops:
            age: []
        ---
        apiVersion: v1alpha1
        kind: HostnameConfig
        hostnam: gpu
        sops:
            age: []
      `,
      findings: [{ line: 8, check: "patch-schema", problem: /hostnam/ }],
    }));

  test("faults in a cluster template of Omni", () =>
    expectFindings({
      file: yaml`
        kind: Cluster
        name: home
        talos:
          version: v1.13.6
        patches:
          - name: sysctls
            inline:
              machine:
                sysctl:
                  vm.nr_hugepages: "1024"
        ---
        kind: ControlPlane
        machines: [m1]
        ---
        kind: Machine
        name: m2
        systemExtensions:
          - siderolabs/nvidia-open-gpu-kernel-module-production
        kernelArgs:
          - nvidia_drm.modeset=1
      `,
      findings: [
        { line: 9, check: "patch-schema", problem: /machine.sysctl is not a field/ },
        { line: 18, check: "extension-name", problem: /nvidia-open-gpu-kernel-module-production/ },
        { line: 20, check: "kernel-args", problem: /nvidia_drm.modeset has no effect/ },
      ],
    }));

  test("a wrong value of a chart that kustomize inflates", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        kind: Kustomization
        helmCharts:
          - name: gpu-operator
            repo: https://helm.ngc.nvidia.com/nvidia
            version: v26.3.3
            valuesInline:
              driver:
                enabled: false
              toolkit:
                enabled: true
      `,
      findings: [{ line: 10, check: "external", problem: /toolkit.enabled/ }],
    }));

  test("faults in items of a List", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        apiVersion: v1
        kind: List
        items:
          - kind: Pod
            spec:
              containers:
                - env:
                    - { name: NVIDIA_VISIBLE_DEVICES, value: all }
          - kind: Pod
            spec:
              initContainers:
                - resources: { limits: { nvidia.com/gpu: 1 } }
                  env:
                    - { name: NVIDIA_VISIBLE_DEVICES, value: all }
          - kind: HelmRelease
            spec:
              chart: { spec: { chart: gpu-operator, version: 25.10.x } }
              values:
                driver: { enabled: false }
                toolkit:
                  enabled: true
      `,
      findings: [
        { line: 14, check: "visible-devices", problem: /NVIDIA_VISIBLE_DEVICES/ },
        { line: 17, check: "operator-version", problem: /^version: v25\.10\.1 is older/ },
        { line: 21, check: "external", problem: /^toolkit\.enabled/ },
      ],
    }));

  test("faults in JSON patch operations on a machine", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        - op: add
          path: /machine/install/extensions
          value: [{ image: ghcr.io/siderolabs/iscsi-tools:v0.1 }]
        - op: add
          path: /machine/files/-
          value:
            op: create
            path: /etc/cri/conf.d/20-customization.part
            content: |
              [plugins."io.containerd.grpc.v1.cri"]
                enable_unprivileged_ports = true
        - { op: remove, path: /machine/sysctl }
        - { op: replace, path: /machine/network/interfaces/0/mtv, value: 9000 }
      `,
      findings: [
        { line: 2, check: "install-extensions", problem: /^machine\.install\.extensions/ },
        { line: 10, check: "containerd-toml", problem: /io\.containerd\.grpc\.v1\.cri/ },
      ],
    }));

  test("faults in resources of Omni", () =>
    expectFindings({
      file: yaml`
        metadata: { type: ConfigPatches.omni.sidero.dev }
        spec:
          data: |
            machine:
              install: { image: "factory.talos.dev/installer/x:v1.13.6" }
              sysctl: {}
        ---
        metadata: { type: ExtensionsConfigurations.omni.sidero.dev }
        spec:
          extensions:
            - siderolabs/nvidia-open-gpu-kernel-modules-lts
            - siderolabs/nvidia-container-toolkit-production
      `,
      findings: [
        { line: 6, check: "patch-schema", problem: /^machine\.sysctl/ },
        { line: 12, check: "driver-branches", problem: /kernel modules are of branch lts/ },
      ],
    }));

  test("a default runtime that Talos 1.15 does not have", () =>
    expectFindings({
      talos: ["v1.15.0"],
      file: yaml`
        machine:
          files:
            - op: create
              path: /etc/cri/conf.d/20-customization.part
              content: |
                [plugins."io.containerd.cri.v1.runtime".containerd]
                  default_runtime_name = "nvidia"
      `,
      findings: [
        { line: 6, check: "nvidia-handler", problem: /the default runtime of containerd/ },
      ],
    }));

  test("a pod whose RuntimeClass has no handler on Talos 1.15", () =>
    expectFindings({
      talos: ["v1.15.0"],
      file: podWithNvidiaClass,
      findings: [{ line: 5, check: "external", problem: /^runtimeClassName/ }],
    }));

  test("GPU requests that Kubernetes refuses, in any kind of object", () =>
    expectFindings({
      file: yaml`
        kind: LeaderWorkerSet
        spec:
          leaderWorkerTemplate:
            workerTemplate:
              spec:
                containers:
                  - image: vllm
                    resources:
                      requests: { nvidia.com/gpu: 1 }
                  - resources:
                      limits: { nvidia.com/gpu: "2" }
                      requests:
                        nvidia.com/gpu: 1
                  - resources: { limits: { nvidia.com/gpu: "1" }, requests: { nvidia.com/gpu: 1 } }
                  - resources: { limits: { nvidia.com/gpu: 0.5 } }
                  - resources: { limits: { nvidia.com/gpu: "\${CARDS}" }, requests: { nvidia.com/gpu: 1 } }
        ---
        kind: HelmRelease
        spec:
          values:
            controllers:
              plex:
                containers: { app: { resources: { requests: { nvidia.com/mig-1g.10gb: 1 } } } }
      `,
      findings: [
        {
          line: 9,
          check: "gpu-limit",
          problem: /resources\.limits differ in the number of nvidia\.com\/gpu/,
        },
        { line: 12, check: "gpu-limit", problem: /^resources\.requests/ },
        { line: 15, check: "gpu-limit", problem: /0.5 of nvidia.com\/gpu/ },
        { line: 23, check: "gpu-limit", problem: /nvidia.com\/mig-1g.10gb/ },
      ],
    }));

  test("a RuntimeClass with a wrong handler", () =>
    expectFindings({
      talos: ["v1.13.6"],
      file: yaml`
        kind: RuntimeClass
        metadata: { name: nvidia }
        handler: nvidia
        ---
        kind: List
        items:
          - kind: RuntimeClass
            metadata: { name: nvidia }
            handler: nvidia-container-runtime
          - { kind: RuntimeClass, metadata: { name: kata }, handler: kata }
      `,
      findings: [
        { line: 9, check: "runtime-class", problem: /^handler is nvidia-container-runtime/ },
      ],
    }));

  test("a RuntimeClass of NVIDIA on Talos 1.15, where no extension has the toolkit", () =>
    expectFindings({
      talos: ["v1.15.0"],
      file: yaml`
        kind: RuntimeClass
        metadata: { name: nvidia }
        handler: nvidia
      `,
      findings: [{ line: 3, check: "runtime-class", problem: /has no NVIDIA handler/ }],
    }));
});

describe("check finds nothing in", () => {
  test("a talhelper patch with an escaped $patch", () =>
    expectFindings({
      file: yaml`
        cluster:
          apiServer:
            admissionControl:
              $$patch: delete
      `,
      findings: [],
    }));

  test("values of another chart", () =>
    expectFindings({
      file: yaml`
        image: { tag: v1 }
        resources: {}
        serviceAccount: { create: true }
      `,
      findings: [],
      isSkipped: true,
    }));

  test("talhelper's secrets file", () =>
    expectFindings({
      file: yaml`
        cluster: {id: a}
        secrets: {token: b}
      `,
      findings: [],
      isSkipped: true,
    }));

  test("JSON patch operations on the cluster's part", () =>
    expectFindings({
      file: yaml`
        - {op: remove, path: /cluster/apiServer}
      `,
      findings: [],
    }));

  test("a reference to a secret instead of a certificate", () =>
    expectFindings({
      file: yaml`
        machine:
          ca:
            crt: op://talos/ca/crt
      `,
      findings: [],
    }));

  test("a variable in a list", () =>
    expectFindings({
      file: yaml`
        machine:
          kubelet:
            nodeIP:
              validSubnets:
                - 10.0.0.0/8
                - \${V6}
      `,
      findings: [],
    }));

  test("a template that a tool fills in", () =>
    expectFindings({
      file: yaml`
        machine:
          sysctls:
            a: {{ .Value }}
      `,
      findings: [],
    }));

  test("a HelmRelease without its repository, as in a pull request", () =>
    expectFindings({
      file: yaml`
        kind: HelmRelease
        metadata:
          name: nvidia-device-plugin
        spec:
          chartRef:
            kind: OCIRepository
            name: nvidia-device-plugin
          values:
            runtimeClassName: nvidia
      `,
      findings: [],
    }));

  test("JSON patch operations on a Kubernetes object", () =>
    expectFindings({
      file: yaml`
        - { op: add, path: /spec/sysctl, value: 1 }
      `,
      findings: [],
      isSkipped: true,
    }));

  test("an extension of the user's own Image Factory", () =>
    expectFindings({
      file: yaml`
        talosVersion: v1.13.6
        imageFactory: { registryURL: factory.example.org }
        nodes:
          - hostname: gpu
            ipAddress: 10.0.0.1
            schematic: { customization: { systemExtensions: { officialExtensions: [siderolabs/sysbox] } } }
      `,
      findings: [],
    }));

  test("a pod with NVIDIA's RuntimeClass on Talos 1.14", () =>
    expectFindings({ talos: ["v1.14.6"], file: podWithNvidiaClass, findings: [] }));
});
