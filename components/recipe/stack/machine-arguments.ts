import * as z from "zod";
import * as rules from "../rules";
import { image, ruled, text } from "./notation";
import { taintEffects } from "./workloads/descriptor";

const named = z.looseObject({ name: text });

/** Shape of what a machine is told besides what a stack says of it and its inputs. */
export const machineArgumentSchema = z.strictObject({
  nodeName: text.optional(),
  otherControlPlanes: z.array(ruled(rules.machineAddress)).optional(),
  maintenance: z.boolean().optional(),
  bootstrap: z.boolean().optional(),
  recipe: z
    .looseObject({
      schematic: z.string(),
      schematicId: text,
      installerImage: image,
      talosVersion: text,
      kernelModules: z.array(named),
      patches: z.array(z.string()),
      nodeLabels: z.record(z.string(), z.string()),
      nodeTaints: z.array(z.looseObject({ key: text, effect: z.enum(taintEffects) })),
      extensionServices: z.array(named),
    })
    .optional(),
});
