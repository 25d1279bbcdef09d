import { TalosProvider } from "../../../lab/providers/talos";
import { serveAsPlugin } from "./served";

// `pulumi-resource-talos`: it takes each machine by its own address, without credentials first (terraform-provider-talos v0.11.0,
// pkg/talos/util.go), and asks the Image Factory of its configuration.

const maintenance = new Proxy<Record<string, string>>(
  {},
  { get: (_none, address) => address as string },
);
serveAsPlugin(
  "talos",
  new TalosProvider({ talosctl: process.env["PLUGIN_TALOSCTL"]!, maintenance }),
);
