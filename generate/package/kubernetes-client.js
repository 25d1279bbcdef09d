// A plugin of esbuild for programs that reach the Kubernetes API by a kubeconfig. They ask the API by paths of their own, so of the
// Kubernetes client they need only `KubeConfig`. The client's index also loads a class for every object and call of the API: four fifths
// of a bundle, and most of the time that it takes to start.
const path = require("node:path");

/** What the client's own modules take from the generated ones (`config.js`). A bundle fails if a release takes more. */
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
