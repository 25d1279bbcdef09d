import * as fs from "node:fs";
import * as path from "node:path";
import { main } from "@pulumi/pulumi/provider";
import "../pulumi/engine-gone"; // the plugin ends with the engine that started it
import { packageRoot } from "../pulumi/package-root";
import { componentsBy } from "./provider";

/** Serves the components until the engine that started this process is gone. */
function serve(): Promise<void> {
  const text = fs.readFileSync(path.join(packageRoot(), "bin", "schema.json"), "utf8"); // `npm run build` puts it there
  return main(componentsBy(text), process.argv.slice(2));
}

// Pulumi's host requires the package's folder, whose entry is `main` in package.json, and calls the exported function
// (pulumi/pulumi, sdk/nodejs/cmd/run-plugin/run.ts). A program that imports the package by its name gets the entry of
// `exports` instead: the components.
export = serve;
