import { renderTemplate } from "../../../cli/import/topf/go-template";

const data = {
  ClusterName: "home",
  Data: { vip: "192.0.2.9", names: ["a", "b"], empty: [] },
  Node: {
    Host: "gpu-1",
    Role: "worker",
    IP: "192.0.2.7",
    Data: { modules: [{ name: "nvidia", parameters: ["x=1"] }] },
  },
};

// Results of text/template (pkg.go.dev/text/template) and sprig (masterminds.github.io/sprig).
test.each<[string, string]>([
  ["host: {{ .Node.Host }}", "host: gpu-1"],
  ["a\n{{- /* two\nlines */ -}}\n b", "ab"],
  [
    '{{- if eq .Node.Role "control-plane" }}cp{{ else if eq .Node.Role "worker" }}w{{ else }}?{{ end }}!',
    "w!",
  ],
  ["{{ if .Data.empty }}a{{ else }}b{{ end }}", "b"],
  ["{{- range .Data.names }}\n- {{ . }}\n{{- end }}", "\n- a\n- b"],
  [
    "{{ range $at, $name := .Data.names }}{{ $at }}{{ $name }}{{ $.ClusterName }} {{ end }}",
    "0ahome 1bhome ",
  ],
  ["{{ range .Data.empty }}x{{ else }}none{{ end }}", "none"],
  [
    '{{ range .Node.Data.modules }}{{ .name }}{{ with index . "parameters" }}{{ range . }}:{{ . }}{{ end }}{{ end }}{{ end }}',
    "nvidia:x=1",
  ],
  ['{{ range .Node.Data.modules }}{{ with index . "other" }}{{ . }}{{ end }}{{ end }}', ""],
  ['{{- $last := last (splitList "." (printf "%s" .Node.IP)) }}10.0.0.{{ $last }}', "10.0.0.7"],
  ["{{ $a := 1 }}{{ if true }}{{ $a = 2 }}{{ end }}{{ $a }}", "2"],
  ['{{ .Data.vip | quote }} {{ "x" | default "y" }} {{ "" | default "y" }}', '"192.0.2.9" x y'],
  ['{{ if and (hasKey .Node.Data "modules") (not (hasKey .Node.Data "b")) }}yes{{ end }}', "yes"],
  ["{{ (index .Node.Data.modules 0).name }}", "nvidia"],
  ["{{ .Data.names }} {{ len .Data.names }} {{ `a}}b` }}", "[a b] 2 a}}b"],
  ["a:{{ toYaml .Data.names | nindent 2 }}", "a:\n  - a\n  - b"],
])("the Go template %j becomes %j", (template, text) => {
  expect(renderTemplate(template, data)).toBe(text);
});

test.each<[string, RegExp]>([
  ["{{ .Node.Data.vlan }}", /^\.Node\.Data\.vlan is missing$/],
  ['{{ env "HOME" }}', /^the environment variable HOME is not given \(--env\)$/],
  ["{{ genCA . }}", /^the function genCA is unknown$/],
  ["{{ if . }}", /^an `end` is missing$/],
  ['{{ template "a" }}', /^`template` is unknown$/],
  ["{{ ! }}", /cannot be read$/],
  ["{{ constructor }}", /^the function constructor is unknown$/],
  ["{{ $a }}", /^\$a is not there$/],
])("the Go template %j is refused", (template, reason) => {
  expect(() => renderTemplate(template, data)).toThrow(reason);
});

test("a variable that --env names is filled in from the environment", () => {
  expect(renderTemplate('{{ env "A" }}', data, { A: "b" })).toBe("b");
});

// Each of these would run forever or end the process if it were executed without limits.
test.each<[string, string]>([
  [
    "four nested loops over a thousand items",
    `${"{{ range .Data.many }}".repeat(4)}x${"{{ end }}".repeat(4)}`,
  ],
  ["very many tokens", `{{ print ${'"a" '.repeat(100_000)} }}`],
  ["very many brackets", `{{ ${"( ".repeat(100_000)} }}`],
  ["very many blanks", `{{ ${" ".repeat(500_000)}x`],
])("%s render to less than a million characters, or are refused", (_, template) => {
  const items = Array.from({ length: 1000 }, (__, index) => index);
  let textOrError: string;
  try {
    textOrError = renderTemplate(template, { Data: { many: items } });
  } catch (error) {
    textOrError = (error as Error).message;
  }
  expect(textOrError.length).toBeLessThan(1_000_000);
});
