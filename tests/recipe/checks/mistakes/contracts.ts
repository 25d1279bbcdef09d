import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about version contracts. */
export const contractsMistakes: Mistakes = {
  "contract-pinned": [
    {
      name: "An owned machine without a version contract",
      base: "rtx5070ti",
      findings: [
        {
          check: "contract-pinned",
          field: "machineDefaults.versionContract",
          severity: "warning",
          says: [
            "is not set for k8s-worker4, whose configuration the stack generates for Talos v1.12; a preview with the next minor version of Talos fails until versionContract is set; write `versionContract: v1.12`",
          ],
        },
      ],
    },
  ],
  "contract-owner": [
    {
      name: "A contract of a machine that another tool configures",
      base: "one-card",
      change: yaml`
        machines: { gpu: { versionContract: v1.12 } }
      `,
      findings: [
        {
          check: "contract-owner",
          field: "machines.gpu.versionContract",
          severity: "warning",
          says: [
            "has no effect on a machine whose configuration is adopted; another tool generates this machine's configuration; leave it out",
          ],
        },
      ],
    },
  ],
  "contract-args": [
    {
      name: "Kernel arguments in a patch of an owned machine whose configuration takes the image's",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            versionContract: v1.12
            patches: ["machine: {install: {extraKernelArgs: [intel_iommu=on]}}"]
      `,
      findings: [
        {
          check: "contract-args",
          field: "machines.k8s-worker4.patches",
          says: [
            "set machine.install.extraKernelArgs, but the configuration that Talos generates for v1.12 also sets machine.install.grubUseUKICmdline",
            'write the arguments under kernelArgs: ["intel_iommu=on"]',
          ],
        },
      ],
    },
  ],
};
