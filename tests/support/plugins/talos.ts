import { TalosProvider } from "../../../lab/providers/talos";
import { serveAsPlugin } from "./serve-as-plugin";

// The plugin `pulumi-resource-talos`. It connects to each machine at the machine's own address, first without
// credentials (terraform-provider-talos v0.11.0, pkg/talos/util.go). It asks the Image Factory in its
// configuration.

const maintenance = new Proxy<Record<string, string>>(
  {},
  { get: (_none, address) => address as string },
);
serveAsPlugin(
  "talos",
  new TalosProvider({ talosctl: process.env["PLUGIN_TALOSCTL"]!, maintenance }),
);
