import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { withMermaid } from "vitepress-plugin-mermaid";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** Where a reader finds what is no page, such as a stack's file: `SITE_REPOSITORY`, which the workflow sets. */
const repository = process.env["SITE_REPOSITORY"] ?? "https://github.com/OWNER/talos-gpu";

/** The address of a link in a page: pages stay in the site, everything else of the repository is looked at there. */
function addressOf(link: string, page: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link;
  const [file = "", anchor] = link.split("#", 2);
  const target = path.resolve(docs, path.dirname(page), file);
  if (target.startsWith(docs) && existsSync(target)) return link;
  const kind = existsSync(target) && statSync(target).isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/main/${path.relative(path.dirname(docs), target)}${anchor ? `#${anchor}` : ""}`;
}

export default withMermaid({
  title: "talos-gpu",
  description: "NVIDIA GPUs on Talos Linux, from the image to a pod that computes, with Pulumi",
  base: process.env["SITE_BASE"] ?? "/",
  rewrites: { "stacks/README.md": "stacks/index.md", "roles/README.md": "roles/index.md" },
  lastUpdated: true,
  markdown: {
    config(md) {
      const close = md.core.ruler;
      close.push("repository-links", (state) => {
        const page = (state.env as { relativePath: string }).relativePath.replace(
          /^(stacks|roles)\/index\.md$/,
          "$1/README.md",
        );
        for (const { children } of state.tokens)
          for (const token of children ?? []) {
            const link = token.type === "link_open" ? token.attrGet("href") : null;
            if (link !== null) token.attrSet("href", addressOf(link, page));
          }
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: repository }],
    nav: [
      { text: "Get started", link: "/get-started" },
      { text: "Use it", link: "/use" },
      { text: "Every field", link: "/reference" },
      { text: "Troubleshooting", link: "/troubleshooting" },
    ],
    sidebar: [
      {
        text: "Use",
        items: [
          { text: "Get started", link: "/get-started" },
          { text: "Use it", link: "/use" },
          { text: "Systems to copy from", link: "/stacks/" },
          { text: "Every field of a stack", link: "/reference" },
          { text: "Cards by claim", link: "/claims" },
          { text: "Models over machines", link: "/models-over-machines" },
          { text: "With Flux or Argo CD", link: "/with-flux-or-argo" },
          { text: "Your own chart's pod", link: "/beside/own-charts" },
          { text: "Renovate and tuppr", link: "/beside/renovate" },
          { text: "clustertool, minijinja and topf", link: "/beside/generators" },
          { text: "DGX Spark and GB10", link: "/beside/spark" },
          { text: "Your own image, extensions and mirrors", link: "/beside/own-image" },
          { text: "Credentials", link: "/credentials" },
          { text: "Roles that are enough", link: "/roles/" },
          { text: "Fleets", link: "/fleets" },
          { text: "The package, for Pulumi's registry", link: "/_index" },
          { text: "Install and configure the package", link: "/installation-configuration" },
        ],
      },
      {
        text: "When something changes or fails",
        items: [
          { text: "From Talos 1.12 to 1.13", link: "/migration" },
          { text: "Troubleshooting", link: "/troubleshooting" },
        ],
      },
      {
        text: "How it works, and how that is known",
        items: [
          { text: "Architecture", link: "/architecture" },
          { text: "The lab", link: "/lab" },
          { text: "Seen on a real card", link: "/hardware" },
          { text: "Seen with the published parts", link: "/conformance" },
        ],
      },
    ],
  },
});
