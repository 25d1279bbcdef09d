import { stringify } from "yaml";
import { certificateFindings } from "../../components/clients/certificates";
import { expired } from "../cli/expired-certificate";

const crt = Buffer.from(expired).toString("base64");
const talosconfig = stringify({ context: "home", contexts: { home: { crt }, other: {} } });
const kubeconfig = stringify({
  "current-context": "admin@home",
  contexts: [{ name: "admin@home", context: { cluster: "home", user: "me" } }],
  users: [{ name: "me", user: { "client-certificate-data": crt } }],
});
const now = new Date("2026-01-01");

test("certificates that are not valid now are reported with their date, both at once", () => {
  expect(
    certificateFindings(talosconfig, kubeconfig, now).map(
      ({ field, problem }) => `${field}: ${problem}`,
    ),
  ).toEqual([
    "talosconfig: the client certificate of context home expired on 2021-01-01",
    "kubeconfig: the client certificate of user me (context admin@home) expired on 2021-01-01",
  ]);
  expect(certificateFindings(talosconfig, undefined, new Date("2019-06-01"))[0]?.problem).toContain(
    "is not valid before 2020-01-01",
  );
});

test.each([
  ["in force", talosconfig, kubeconfig, new Date("2020-06-01")],
  ["not given", undefined, undefined, now],
  [
    "by token, of Omni, or of another context",
    stringify({ context: "other", contexts: { other: {} } }),
    stringify({ users: [] }),
    now,
  ],
  ["no YAML at all: its reader says so", "a: [", "\t", now],
])("no finding about credentials %s", (_, talos, kube, at) => {
  expect(certificateFindings(talos, kube, at)).toEqual([]);
});
