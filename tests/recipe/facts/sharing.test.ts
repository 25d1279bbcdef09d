import { findingsOf, planCluster } from "../../../components/recipe/index";
import { warningsAndNotes } from "../../support/warnings-and-notes";
import { stackOfOneMachine } from "../stacks";

// Sharing of cards in stacks is tested in tests/recipe/planned.

test.each([
  ["H20", "1g.12gb", 7],
  ["NVIDIA GH200 480GB", "3g.48gb", 2],
  ["NVIDIA GH200 144G HBM3e", "all-1g.18gb", 7],
  ["NVIDIA B300 SXM6 AC", "1g.34gb", 7],
  ["NVIDIA GB200", "1g.47gb", 4],
  ["NVIDIA GB300", "2g.70gb", 3],
  ["NVIDIA A800-SXM4-80GB", "1g.10gb", 7],
  ["NVIDIA A800 80GB PCIe", "2g.20gb", 3],
  ["NVIDIA A800 40GB Active", "1g.5gb", 7],
  ["NVIDIA H800", "1g.10gb", 7],
  ["NVIDIA H800 PCIe", "3g.40gb", 2],
  ["NVIDIA H800 NVL", "1g.12gb", 7],
  ["RTX PRO 6000 Blackwell Workstation Edition", "1g.24gb+gfx", 4],
  ["RTX PRO 6000 Blackwell Max-Q Workstation Edition", "2g.48gb-me", 2],
])("an %s with the MIG profile %s has %i MIG devices", (model, profile, devices) => {
  const sharing = { mig: { strategy: "single", profile } } as const;
  const spec = stackOfOneMachine(
    "v1.13.9",
    { gpus: [{ model }] },
    { gpuOperator: { version: "v26.3.3" }, sharing },
  );
  expect(planCluster(spec).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": devices });
  expect(warningsAndNotes(spec).filter((note) => /profiles/.test(note))).toEqual([]);
});

// Devices in the MIG manager's configuration, by their PCI IDs (gpu-operator v26.3.3,
// assets/state-mig-manager/0400_configmap.yaml).
test.each([
  ["all-balanced", "RTX PRO 6000 Blackwell Workstation Edition", false],
  ["all-balanced", "RTX PRO 6000 Blackwell Max-Q Workstation Edition", false],
  ["all-balanced", "RTX PRO 6000 Blackwell Server Edition", true],
  ["all-balanced", "H100 SXM5 96GB", false],
  ["all-balanced", "H100 96GB", true],
  ["all-balanced", "H200 NVL", true],
  ["all-1g.35gb", "H200 NVL", false],
  ["all-1g.18gb", "H200 NVL", true],
  ["all-1g.35gb", "H200", true],
  ["all-1g.35gb", "GB300", true],
])("the MIG configuration %s splits an %s: %s", (profile, model, splits) => {
  const sharing = { mig: { strategy: "mixed", profile } } as const;
  const spec = stackOfOneMachine(
    "v1.13.9",
    { gpus: [{ model }] },
    { gpuOperator: { version: "v26.3.3" }, sharing },
  );
  expect(findingsOf(spec).map(({ check, problem }) => `${check}: ${problem}`)).toEqual(
    splits ? [] : [`mig: ${profile} does nothing on the ${model} of gpu`],
  );
});

test.each([
  ["B300 SXM6 AC", "1g.34gb", "v1.12.6", "production", "needs driver 580.82.07"],
  ["B300 SXM6 AC", "1g.34gb", "v1.12.6", "lts", "fits"],
  ["RTX PRO 4500 Blackwell", "1g.16gb", "v1.13.9", "lts", "fits"],
  ["RTX PRO 4500 Blackwell Server Edition", "1g.16gb", "v1.13.9", "lts", "fits"],
  ["RTX PRO 4000 Blackwell", "1g.12gb", "v1.13.9", "lts", "does not support MIG"],
  ["RTX 5080", "1g.16gb", "v1.13.9", "lts", "does not support MIG"],
  [
    "RTX PRO 5000 Blackwell Generation Laptop GPU",
    "1g.12gb",
    "v1.13.9",
    "lts",
    "does not support MIG",
  ],
] as const)(
  "the card %s with the MIG profile %s on Talos %s, driver %s: it %s",
  (model, profile, version, branch, problem) => {
    const sharing = { mig: { strategy: "single", profile } } as const;
    const stackFields = { gpuOperator: { version: "v25.10.1" }, sharing, driver: { branch } };
    const migFindings = findingsOf(
      stackOfOneMachine(version, { gpus: [{ model }] }, stackFields),
    ).filter(({ check }) => check === "mig");
    expect(migFindings.map((finding) => finding.problem)).toEqual(
      problem === "fits" ? [] : [expect.stringContaining(problem)],
    );
  },
);
