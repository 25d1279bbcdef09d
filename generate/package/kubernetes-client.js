// A plugin of esbuild for programs that reach the Kubernetes API by a kubeconfig. They request the API's paths
// themselves, so they need only `KubeConfig` of the Kubernetes client. The client's index also loads a class for every
// object and call of the API: four fifths of a bundle, and most of its start time.
const path = require("node:path");

/**
 * The exports of the generated modules that the client's `config.js` uses. A bundle fails if a later release uses more.
 */
const generated = `
export { createConfiguration } from "./configuration.js";
export { ServerConfiguration } from "./servers.js";
`;

/** @type {import("esbuild").Plugin} */
const kubernetesClient = {
  name: "kubernetes client",
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({
      path: path.join(path.dirname(require.resolve("@kubernetes/client-node")), "config.js"),
    }));
    build.onLoad(
      { filter: /[\\/]client-node[\\/]dist[\\/]gen[\\/]index\.js$/ },
      ({ path: file }) => ({
        contents: generated,
        resolveDir: path.dirname(file),
      }),
    );
  },
};

module.exports = { kubernetesClient };
