import { CommandProvider } from "../../../lab/providers/command";
import { serveAsPlugin } from "./serve-as-plugin";

// The plugin `pulumi-resource-command`. It runs commands in the folder in which it was started (pulumi-command
// v1.2.1, commandOutputs.go).

serveAsPlugin("command", new CommandProvider({ directory: process.cwd() }));
