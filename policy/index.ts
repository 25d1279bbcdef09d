import { PolicyPack, type StackValidationPolicy } from "@pulumi/policy";
import "talos-gpu/bin/pulumi/engine-gone.js"; // This ends the pack when its engine ends.
import { knownPart } from "./known";
import { policies } from "./policies";
import type { Policy } from "./policies/policy";

/**
 * A policy in CrossGuard's form. It runs over the whole stack, because the violations are relations between resources.
 */
function asStackValidation(policy: Policy): StackValidationPolicy {
  return {
    name: policy.name,
    description: policy.description,
    enforcementLevel: "mandatory",
    configSchema: {
      properties: {
        privilegedNamespaces: {
          type: "array",
          items: { type: "string" },
          default: ["kube-system"],
        },
      },
    },
    validateStack: (args, report) => {
      const { privilegedNamespaces = ["kube-system"] } = args.getConfig<{
        privilegedNamespaces?: string[];
      }>();
      for (const { resource, message } of policy.find(knownPart(args.resources), {
        privilegedNamespaces,
      }))
        report(message, resource.urn);
    },
  };
}

new PolicyPack("talos-gpu", { policies: policies.map(asStackValidation) });
