import * as fs from "node:fs";
import { CommandProvider } from "../../../../lab/providers/command";
import { serveProvider } from "../../../../lab/providers/serve";

// `pulumi-resource-command` as a program: it says on its first line where it listens, and runs commands where it was started
// (pulumi/pulumi v3.259.0, sdk/go/common/resource/plugin/plugin.go, newPlugin; pulumi-command v1.2.1, commandOutputs.go).

const pids = process.env["PLUGIN_PIDS"];
if (pids !== undefined) fs.appendFileSync(pids, `${process.pid}\n`);
void serveProvider(() => new CommandProvider({ directory: process.cwd() })).then(({ port }) => console.log(port));
