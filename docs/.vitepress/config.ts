import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { withMermaid } from "vitepress-plugin-mermaid";
import { slugOf } from "../../generate/site/slug";
import { piecesOf } from "../../generate/site/sources";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** Where a reader finds what is no page, such as a stack's file: `SITE_REPOSITORY`, which the workflow sets. */
const repository = process.env["SITE_REPOSITORY"] ?? "https://github.com/OWNER/talos-gpu";

/** The address of a link in a page: pages stay in the site, everything else of the repository is looked at there. */
function addressOf(link: string, page: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link;
  const [file = "", anchor] = link.split("#", 2);
  const target = path.resolve(docs, path.dirname(page), file);
  const isPage = target.startsWith(docs) && target.endsWith(".md") && existsSync(target);
  if (isPage) return link.replace(/README\.md(?=$|#)/, "index.md"); // as `rewrites` has it
  const kind = existsSync(target) && statSync(target).isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/main/${path.relative(path.dirname(docs), target)}${anchor ? `#${anchor}` : ""}`;
}

const base = process.env["SITE_BASE"] ?? "/";

export default withMermaid({
  title: "talos-gpu",
  description: "NVIDIA GPUs on Talos Linux, from the image to a pod that computes, with Pulumi",
  base,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}logo.svg` }]],
  rewrites: { "stacks/README.md": "stacks/index.md", "roles/README.md": "roles/index.md" },
  lastUpdated: true,
  markdown: {
    anchor: { slugify: slugOf },
    config(md) {
      // Pulumi's registry shows one language at a time by these lines, which Vue would take for its own.
      md.core.ruler.after("normalize", "registry-shortcodes", (state) => {
        state.src = state.src.replace(/^\{\{[<%].*[%>]\}\}$/gm, "");
      });
      md.core.ruler.push("repository-links", (state) => {
        const { relativePath } = state.env as { relativePath?: string };
        if (relativePath === undefined) return; // a page's title, read by itself
        const page = relativePath.replace(/^(stacks|roles)\/index\.md$/, "$1/README.md");
        for (const { children } of state.tokens)
          for (const token of children ?? []) {
            const link = token.type === "link_open" ? token.attrGet("href") : null;
            if (link !== null) token.attrSet("href", addressOf(link, page));
          }
      });
      md.core.ruler.push("issue-links", (state) => {
        for (const token of state.tokens) {
          let depth = 0;
          if (token.children === null) continue;
          token.children = token.children.flatMap((child) => {
            depth += child.nesting * (child.type.startsWith("link_") ? 1 : 0);
            if (child.type !== "text" || depth > 0) return [child];
            return piecesOf(child.content).flatMap(({ text, href }) => {
              const plain = new state.Token("text", "", 0);
              plain.content = text;
              if (href === undefined) return [plain];
              const open = new state.Token("link_open", "a", 1);
              open.attrSet("href", href);
              return [open, plain, new state.Token("link_close", "a", -1)];
            });
          });
        }
      });
    },
  },
  themeConfig: {
    logo: "/logo.svg",
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
          { text: "With talhelper, topf and clustertool", link: "/with-talhelper" },
          { text: "Systems to copy from", link: "/stacks/" },
          { text: "Every field of a stack", link: "/reference" },
        ],
      },
      {
        text: "Run",
        items: [
          { text: "Operations", link: "/operations" },
          { text: "Troubleshooting", link: "/troubleshooting" },
          { text: "Tested roles", link: "/roles/" },
        ],
      },
      {
        text: "Know",
        items: [
          { text: "Architecture", link: "/architecture" },
          { text: "What was seen, and where", link: "/evidence" },
          { text: "The package, for Pulumi's registry", link: "/_index" },
          { text: "Install and configure the package", link: "/installation-configuration" },
        ],
      },
    ],
  },
});
