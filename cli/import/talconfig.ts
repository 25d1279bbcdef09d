import { repeated } from "../../components/recipe/mapping";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";
import * as z from "zod";

/**
 * Fields that are read from talhelper's `talconfig.yaml` (talhelper, pkg/config/config.go). talhelper still makes the
 * machines' configurations from the talconfig.yaml. The stack only adds NVIDIA's settings.
 */

/** A text. Go reads null as the empty text. */
const texts = z.record(
  z.string(),
  z.preprocess((value) => value ?? "", z.coerce.string()),
);

/** Fields that a node, or all nodes of a role, may have. */
const settings = z.looseObject({
  nodeLabels: texts.optional(),
  nodeTaints: texts.optional(),
  talosImageURL: z.string().optional(),
  schematic: z
    .looseObject({
      customization: z
        .looseObject({
          extraKernelArgs: z.array(z.string()).optional(),
          systemExtensions: z
            .looseObject({ officialExtensions: z.array(z.string()).optional() })
            .optional(),
        })
        .optional(),
    })
    .optional(),
  machineSpec: z
    .looseObject({ mode: z.string().optional(), secureboot: z.boolean().optional() })
    .optional(),
  kernelModules: z.array(z.looseObject({ name: z.string() })).optional(),
  /** Files of the machine, in the form of Talos' `machine.files`. The content may be `@` with a file's name. */
  machineFiles: z.array(z.looseObject({ content: z.string().optional() })).optional(),
  patches: z.array(z.string()).optional(),
});

const node = settings.extend({
  hostname: z.string(),
  /** One address, or several, separated by commas. */
  ipAddress: z.string(),
  controlPlane: z.boolean().default(false),
  /** Whether the node's patches replace the patches of its role. */
  overridePatches: z.boolean().optional(),
});

const talconfig = z.looseObject({
  talosVersion: z.string().optional(),
  imageFactory: z
    .looseObject({
      registryURL: z.string().optional(),
      protocol: z.string().optional(),
      installerURLTmpl: z.string().optional(),
    })
    .optional(),
  patches: z.array(z.string()).optional(),
  controlPlane: settings.optional(),
  worker: settings.optional(),
  nodes: z.array(node).min(1),
});

/** talhelper's fields for a node, or for all nodes of a role. */
export type Settings = z.infer<typeof settings>;
/** A file of a machine. */
export type MachineFile = NonNullable<Settings["machineFiles"]>[number];
/** A node of a `talconfig.yaml`. */
export type TalconfigNode = z.infer<typeof node>;
/** The fields of a `talconfig.yaml` from which a stack is made. */
export type Talconfig = z.infer<typeof talconfig>;

/**
 * Reads a `talconfig.yaml`.
 *
 * @throws Error naming every field whose value has a wrong type.
 */
export function readTalconfig(text: string): Talconfig {
  const { data, error } = talconfig.safeParse(yamlOf(text));
  const problems = error?.issues.map(
    ({ path, message }) => `${path.join(".") || "FILE"}: ${message.replace("Invalid input: ", "")}`,
  );
  if (problems) throw new Error(`${problems.join(", ")}; ${whyNot}`);
  for (const key of ["hostname", "ipAddress"] as const) {
    const repeatedValue = repeated(data!.nodes.map((configNode) => configNode[key]));
    if (repeatedValue !== undefined)
      throw new Error(
        `nodes: two nodes have the ${key} ${repeatedValue}, so the stack could have only one of the two; give each node its own ${key}`,
      );
  }
  return data!;
}

const whyNot =
  "it is neither talhelper's talconfig.yaml nor a machine's configuration, so its machines are unknown; give one of these files (`talosctl get machineconfig -o yaml` prints a configuration)";

/**
 * Value of a text's first document, the only one that talhelper reads.
 *
 * @throws Error if the text is not YAML.
 */
function yamlOf(text: string): unknown {
  const [document] = talosDocuments(text);
  const [error] = document?.errors ?? [];
  if (error === undefined) return withoutNulls(document && valueOfDocument(document));
  throw new Error(
    /^[ \t]*(?:\{%|#%)/m.test(text)
      ? "FILE: is a template from which a tool makes the talconfig.yaml, so its nodes are unknown; give the generated talconfig.yaml"
      : `FILE: is not YAML (${error.message.split("\n")[0]!.replace(/:$/, "")}); ${whyNot}`,
    { cause: error },
  );
}

/** Fields whose members are texts, in which null means an empty text. */
const ofTexts = ["nodeLabels", "nodeTaints"];

/** A value without its fields that are null, because Go treats such a field as missing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== "object") return value;
  const statedEntries = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    statedEntries.map(([key, member]) => [
      key,
      ofTexts.includes(key) ? member : withoutNulls(member),
    ]),
  );
}

/**
 * A node with the settings of its role. The node's own settings take precedence; its patches come after those of the
 * role.
 */
export function withRole(config: Talconfig, talconfigNode: TalconfigNode): TalconfigNode {
  const role: Settings = (talconfigNode.controlPlane ? config.controlPlane : config.worker) ?? {};
  return {
    ...role,
    ...talconfigNode,
    patches: [
      ...(talconfigNode.overridePatches ? [] : (role.patches ?? [])),
      ...(talconfigNode.patches ?? []),
    ],
  };
}

/**
 * Name of the node that Talos derives from a host name. It is the part before the first dot, or the whole host name if
 * the kubelet registers with the full name. The name is in lower case, without characters that Kubernetes forbids
 * (talos, controllers/k8s/nodename.go, FromHostname; resources/network/hostname_spec.go, ParseFQDN).
 *
 * @param shared patches of all nodes.
 */
export function nodeName({ hostname, patches = [] }: TalconfigNode, shared: string[] = []): string {
  const whole = [...patches, ...shared].some((text) =>
    /^[ \t]*registerWithFQDN: *true\b/m.test(text),
  );
  const [host = ""] = whole ? [hostname] : hostname.split(".");
  const name = host.toLowerCase().replaceAll("_", "-");
  return name.replaceAll(/[^a-z0-9.-]/g, "").replaceAll(/^[-.]+|[-.]+$/g, "");
}
