import * as z from "zod";
import * as rules from "../rules";
import type { FindingText, Rule } from "../rules";

/**
 * Adds a finding to zod's issues; the finding's texts become the issue's `params`. Adds nothing if there is no finding.
 */
export function addFinding(
  context: Pick<z.core.$RefinementCtx, "addIssue">,
  finding: FindingText | undefined,
  ...path: PropertyKey[]
): void {
  if (finding) context.addIssue({ code: "custom", params: { ...finding }, path });
}

/** Schema of a text that must follow a rule. The rule's pattern becomes the `pattern` of the JSON schema. */
export const ruled = (rule: Rule): z.ZodString =>
  z
    .string()
    .superRefine((text, context) =>
      addFinding(
        context,
        text.trim() === ""
          ? {
              problem: "is empty",
              why: "the plan needs it",
              remedy: "write a value or leave the field out",
            }
          : rule(text),
      ),
    )
    .meta({ pattern: rule.pattern ?? "\\S" });

/**
 * Schema of a mapping from texts to texts. One rule applies to every key, and the key selects the rule for its value.
 */
export const ruledMapping = (
  keyRule: Rule,
  valueRule: (key: string) => Rule,
): z.ZodRecord<z.ZodString, z.ZodString> =>
  z.record(z.string(), z.string()).superRefine((texts, context) => {
    for (const [key, text] of Object.entries(texts))
      addFinding(context, keyRule(key) ?? valueRule(key)(text), key);
  });

/** Schema of a whole number from 1 to a limit, with the reason for the limit. */
const counted = (maxCount: number, why: string): z.ZodNumber =>
  z
    .number()
    .int()
    .min(1)
    .superRefine((count, context) =>
      addFinding(
        context,
        count > maxCount
          ? { problem: `is ${count}`, why, remedy: `write 1 to ${maxCount}` }
          : undefined,
      ),
    );

/** Schema of a name, a version or an argument, at most as long as a kernel's command line. */
export const text = ruled(
  rules.ruleOf((value) => value.length <= 4096, {
    problem: "is longer than 4096 characters",
    why: "no name, version or argument is that long",
    remedy: "write a shorter one",
  }),
);
/** Limit of a wait. */
export const duration = ruled(rules.wait);
/** Amount of storage or memory. */
export const quantity = ruled(rules.bytes);
/** Name of a namespace. */
export const namespace = ruled(rules.namespaceName);
/** Name of another object. */
export const objectName = ruled(rules.objectName);
/** Image of a container. */
export const image = ruled(rules.imageReference);
/** Whole number, at least 1. */
export const count = z.number().int().min(1);
/** Number of machines, or share of all machines, e.g. `25%`. */
export const countOrShare = z.union([count, ruled(rules.share)]);
/** Values of a chart. */
export const values = z.record(z.string(), z.any());
/** Texts by key. */
export const texts = z.record(z.string(), z.string());
/** Labels by key. */
export const labels = ruledMapping(rules.qualifiedName, () => rules.labelValue);

/** Number of cards in a machine. Limit: open-gpu-kernel-modules, ctrl0000gpu.h, NV0000_CTRL_GPU_MAX_ATTACHED_GPUS. */
export const cards = counted(32, "NVIDIA's driver attaches at most 32 cards to a machine");
/**
 * Number of slices of a card. It is limited because the device plugin lists all slices in one gRPC message of at most 4
 * MiB, with about 60 bytes for each.
 */
export const replicas = z.number().int().max(65_536);
