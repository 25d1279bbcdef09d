import * as z from "zod";
import * as rules from "../rules";
import type { FindingText, Rule } from "../rules";

/** Adds what is wrong, if anything, as an issue whose words go on with it. */
export function tell(
  context: Pick<z.core.$RefinementCtx, "addIssue">,
  fault: FindingText | undefined,
  ...path: PropertyKey[]
): void {
  if (fault) context.addIssue({ code: "custom", params: { ...fault }, path });
}

/** A text by a rule, whose words go on with the issue, and whose pattern with the JSON schema. */
export const ruled = (rule: Rule): z.ZodString =>
  z
    .string()
    .superRefine((text, context) =>
      tell(
        context,
        text.trim() === ""
          ? {
              problem: "is empty",
              why: "nothing can be planned without it",
              remedy: "write a value or leave the field out",
            }
          : rule(text),
      ),
    )
    .meta({ pattern: rule.pattern ?? "\\S" });

/** A mapping of texts by rules for its keys and, by key, its values. */
export const ruledMapping = (
  keyRule: Rule,
  valueRule: (key: string) => Rule,
): z.ZodRecord<z.ZodString, z.ZodString> =>
  z.record(z.string(), z.string()).superRefine((texts, context) => {
    for (const [key, text] of Object.entries(texts))
      tell(context, keyRule(key) ?? valueRule(key)(text), key);
  });

/** A whole number from one on; a reason bounds it above. */
const counted = (most: number, why: string): z.ZodNumber =>
  z
    .number()
    .int()
    .min(1)
    .superRefine((count, context) =>
      tell(
        context,
        count > most ? { problem: `is ${count}`, why, remedy: `write 1 to ${most}` } : undefined,
      ),
    );

/** A name, a version or an argument: none is longer than a kernel's command line. */
export const text = ruled(
  rules.ruleOf((said) => said.length <= 4096, {
    problem: "is longer than 4096 characters",
    why: "nothing here is",
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
/** Number of things, from one on. */
export const count = z.number().int().min(1);
/** Number of things of many: itself, or a share of them as `25%`. */
export const countOrShare = z.union([count, ruled(rules.share)]);
/** Values of a chart. */
export const values = z.record(z.string(), z.any());
/** Texts by key. */
export const texts = z.record(z.string(), z.string());
/** Labels by key. */
export const labels = ruledMapping(rules.qualifiedName, () => rules.labelValue);

/** NVIDIA's driver: open-gpu-kernel-modules, ctrl0000gpu.h, NV0000_CTRL_GPU_MAX_ATTACHED_GPUS. */
export const cards = counted(32, "NVIDIA's driver attaches at most 32 cards to a machine");
/** Of time slicing: each replica is an entry of some 60 bytes in a gRPC message of 4 MiB at most. */
export const replicas = z.number().int().max(65_536);
