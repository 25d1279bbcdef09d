import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { hold } from "./held";
import { isAlive } from "./is-alive";
import { boundedValues } from "../recipe/rules/yaml";

const PREFIX = "talos-gpu-";

/**
 * Files with secrets, for child programs that accept only a path. They have the mode 0600, in a folder with the mode
 * 0700, and are removed when this process ends.
 */
export class SecretFiles {
  private readonly folder: string;

  constructor(root = os.tmpdir()) {
    sweep(root);
    hold();
    this.folder = fs.mkdtempSync(path.join(root, `${PREFIX}${process.pid}-${pidNamespace()}-`));
  }

  write(name: string, content: string): string {
    const file = path.join(this.folder, name);
    fs.writeFileSync(file, content, { mode: 0o600 });
    return file;
  }

  remove(name: string): void {
    fs.rmSync(path.join(this.folder, name), { force: true });
  }

  /** Removes all files. May be called again. */
  close(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * ID of the PID namespace; 0 if the system has no such namespaces. A process ID is valid only within its namespace, and
 * containers that share /tmp have different namespaces.
 */
function pidNamespace(): string {
  try {
    return /\d+/.exec(fs.readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

/**
 * Age of a folder in milliseconds. The run that made a folder of this age has certainly ended, even in another PID
 * namespace.
 */
const FORGOTTEN = 7 * 24 * 60 * 60_000;

/** Removes folders that killed runs have left behind (a cancelled plugin kills its child without warning). */
function sweep(root: string): void {
  const uid = process.getuid?.();
  for (const entry of fs.readdirSync(root)) {
    const [, pid, namespace] = new RegExp(`^${PREFIX}(\\d+)-(\\d+)-`).exec(entry) ?? [];
    if (pid === undefined) continue;
    const isHere = namespace === pidNamespace();
    if (isHere && isAlive(Number(pid))) continue;
    const folder = path.join(root, entry);
    try {
      const { uid: owner, mtimeMs } = fs.lstatSync(folder);
      if (!isHere && Date.now() - mtimeMs < FORGOTTEN) continue;
      if (uid === undefined || owner === uid) fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another run swept it at the same time.
    }
  }
}

/**
 * Secret values of a YAML text (talosconfig, kubeconfig, machine configuration): long single words under keys for
 * credentials.
 */
export function secretValues(text: string): string[] {
  const secrets: string[] = [];
  const walk = (value: unknown, key: string): void => {
    if (
      typeof value === "string" &&
      value.length >= 8 &&
      /key|token|secret|password|crt|cert|identity|data$/i.test(key)
    )
      secrets.push(value);
    else if (Array.isArray(value)) value.forEach((item) => walk(item, key));
    else if (value !== null && typeof value === "object")
      Object.entries(value).forEach(([name, item]) => walk(item, name));
  };
  try {
    for (const value of boundedValues(text)) walk(value, "");
  } catch {
    // No YAML, or more than any client reads: the general patterns of the redaction still apply.
  }
  return secrets;
}
