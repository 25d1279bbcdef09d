import { CommandProvider } from "../../../lab/providers/command";
import { serveAsPlugin } from "./served";

// `pulumi-resource-command`: it runs commands where it was started (pulumi-command v1.2.1, commandOutputs.go).

serveAsPlugin("command", new CommandProvider({ directory: process.cwd() }));
