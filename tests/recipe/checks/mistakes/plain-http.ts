import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about plain HTTP. */
export const plainHttpMistakes: Mistakes = {
  "plain-http": [
    {
      name: "An Image Factory and a chart repository with plain HTTP",
      base: "rtx5070ti",
      change: yaml`
        factoryUrl: http://factory.example.org
        gpuOperator: { repository: http://charts.example.org }
      `,
      findings: [
        {
          check: "plain-http",
          field: "factoryUrl",
          severity: "warning",
          says: [
            "is plain HTTP; an attacker on the network path can replace the image that the machines boot; use https, with a certificate that the machines' registry configuration trusts",
          ],
        },
        {
          check: "plain-http",
          field: "gpuOperator.repository",
          severity: "warning",
          says: [
            "an attacker on the network path can change the charts, which the update installs as administrator of the cluster; use https or oci",
          ],
        },
      ],
    },
  ],
};
