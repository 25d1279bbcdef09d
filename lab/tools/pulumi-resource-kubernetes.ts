import type { Changes } from "./definition";

const program = "cmd/pulumi-resource-kubernetes";

/**
 * What the lab changes in the provider's sources of 14 January 2026, the only ones that Go's proxy has. Releases since do the first
 * two; the third leads to the lab's charts; the rest leaves out components that the package does not use, and with them Pulumi's
 * whole SDK for Go: the program has a third of its size.
 */
export const changes: Changes = {
  module: "github.com/pulumi/pulumi-kubernetes/provider/v4 v4.0.0-20260115033456-f47bc2d6f199",
  edits: [
    {
      why: "since v4.29.0 a creation is a POST, which the API server refuses where the object is there (pulumi-kubernetes#4278)",
      file: "pkg/await/await.go",
      from: "if c.ServerSideApply {\n\t\t\t\tforce := patchForce(c.Inputs, nil, c.Preview)\n",
      to: "if c.ServerSideApply && kinds.IsPatchResource(c.URN, c.Inputs.GetKind()) {\n\t\t\t\tforce := patchForce(c.Inputs, nil, c.Preview)\n",
    },
    {
      why: "since v4.29.0 a creation's fields have this manager, whose fields an update takes over (pulumi-kubernetes#4278)",
      file: "pkg/await/await.go",
      from: "options := metav1.CreateOptions{\n\t\t\t\t\tFieldManager: c.FieldManager,",
      to: 'options := metav1.CreateOptions{\n\t\t\t\t\tFieldManager: "pulumi-kubernetes",',
    },
    {
      why: "charts come from the lab's repositories, each at a path that is the real one's address",
      file: "pkg/provider/helm_release.go",
      from: "version := strings.TrimSpace(cpo.Version)\n\n\t// Determine if chart is already available locally.",
      to: `version := strings.TrimSpace(cpo.Version)
	if charts := os.Getenv("TALOS_GPU_CHARTS"); strings.HasPrefix(charts, "http") {
		folder := cpo.RepoURL
		if registry.IsOCI(name) {
			folder, name = filepath.Split(name)
		}
		_, folder, _ = strings.Cut(strings.TrimRight(folder, "/"), "://")
		cpo.RepoURL = strings.TrimRight(charts, "/") + "/" + folder
	}
`,
    },
    ...[
      '\tproviderhelmv4 "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider/helm/v4"\n',
      '\tproviderkustomizev2 "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider/kustomize/v2"\n',
      '\tprovideryamlv2 "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider/yaml/v2"\n',
      '\t"kubernetes:yaml/v2:ConfigFile":     provideryamlv2.NewConfigFileProvider,\n',
      '\t"kubernetes:yaml/v2:ConfigGroup":    provideryamlv2.NewConfigGroupProvider,\n',
      '\t"kubernetes:helm.sh/v4:Chart":       providerhelmv4.NewChartProvider,\n',
      '\t"kubernetes:kustomize/v2:Directory": providerkustomizev2.NewDirectoryProvider,\n',
    ].map((from) => ({
      why: "components that are left out",
      file: "pkg/provider/provider_construct.go",
      from,
      to: "",
    })),
  ],
  // `go generate` writes them with a version, or without blanks.
  made: Object.fromEntries(
    ["schema", "terraform-mapping"].map((name) => [`${program}/${name}-embed.json`, `${program}/${name}.json`]),
  ),
  without: ["tool", "fake", "keyring", "values", "values_test"].map((name) => `pkg/helm/${name}.go`),
};
