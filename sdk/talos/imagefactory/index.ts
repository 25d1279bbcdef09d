import { registerModule } from "../utilities";
import { Schematic } from "./schematic";

export * from "./schematic";

registerModule("imageFactory/schematic", {
  [Schematic.__pulumiType]: (name, urn) => new Schematic(name, undefined, { urn }),
});
