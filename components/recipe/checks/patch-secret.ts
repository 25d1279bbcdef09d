import { allPatches, type Check } from "./check";
import { parseToml } from "../machine/containerd/containerd";
import { secretsIn } from "../machine/secrets";
import { valueOfDocument } from "../rules/yaml";
import { isMapping } from "../mapping";

const why = "patches are kept in plain text, in the stack file and in Pulumi's state";

/** No patch holds a secret. */
export const patchSecret: Check = {
  id: "patch-secret",
  source:
    "talos, RedactSecrets and Redact of the documents; patches stand in plain text in the stack file, in Pulumi's state and in command lines of `talosctl`",
  find: (context) => [
    ...allPatches(context).flatMap(({ patch }) =>
      patch.documents.flatMap((document) => {
        const value = valueOfDocument(document);
        const kind = isMapping(value) && typeof value["kind"] === "string" ? value["kind"] : "";
        return secretsIn(value, kind)
          .slice(0, 1)
          .map(({ path, remedy }) => ({ field: patch.field, problem: `holds a secret (${path})`, why, remedy }));
      }),
    ),
    ...context.machines.flatMap((machine) =>
      secretsIn(parseToml(machine.spec.containerd?.extra ?? "").table, "")
        .slice(0, 1)
        .map(({ path }) => ({
          field: `${machine.field}.containerd.extra`,
          problem: `holds a secret (${path})`,
          why: "the stack file and Pulumi's state keep it in plain text, and the machine's configuration shows it to everybody who reads it",
          remedy: "let the pods that need the registry name an image pull secret",
        })),
    ),
  ],
};
