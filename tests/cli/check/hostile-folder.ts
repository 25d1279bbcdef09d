import * as fs from "node:fs";
import * as path from "node:path";
import { hostileName } from "../hostile";

const quoted = JSON.stringify(hostileName);

/** A folder in another one: findings, notes, and a file that cannot be read, each with a hostile name in it. */
export function hostileFolder(parent: string): string {
  const folder = fs.mkdtempSync(path.join(parent, "hostile-"));
  const name = hostileName.replaceAll("/", "");
  const files: Record<string, string> = {
    [`a${name}.yaml`]: `machine:\n  type: worker\n  ${quoted}: {}\n  kernel: {modules: [{name: nvidia}]}\n`,
    [`b${name}.yaml`]: `nvidia: [\n`,
    "extensions.yaml": `customization: {systemExtensions: {officialExtensions: [${JSON.stringify(`siderolabs/nvidia-${hostileName}`)}]}}\n`,
    "machine.yaml": `machine:\n  type: worker\n  kernel: {modules: [{name: nvidia, parameters: [${JSON.stringify(`NVreg_${hostileName}=1`)}]}]}\n  nodeLabels: {${JSON.stringify(`nvidia.com/${hostileName}`)}: x}\n`,
    "talconfig.yaml": `nodes: [{hostname: ${quoted}, ipAddress: 10.0.0.1, controlPlane: true, kernelModules: [{name: nvidia}], patches: [${JSON.stringify(`@${hostileName}`)}]}]\n`,
  };
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, file), text);
  return folder;
}
