import { stringify } from "yaml";
import { certificateFindings } from "../../components/clients/certificates";
import { expiredCertificate } from "../cli/expired-certificate";

const crt = Buffer.from(expiredCertificate).toString("base64");
const talosconfig = stringify({ context: "home", contexts: { home: { crt }, other: {} } });
const kubeconfig = stringify({
  "current-context": "admin@home",
  contexts: [{ name: "admin@home", context: { cluster: "home", user: "me" } }],
  users: [{ name: "me", user: { "client-certificate-data": crt } }],
});
const now = new Date("2026-01-01");

test("expired and not yet valid client certificates are reported with their dates", () => {
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
  ["with a valid certificate", talosconfig, kubeconfig, new Date("2020-06-01")],
  ["that are not given", undefined, undefined, now],
  [
    "without a client certificate",
    stringify({ context: "other", contexts: { other: {} } }),
    stringify({ users: [] }),
    now,
  ],
  ["that are not YAML", "a: [", "\t", now],
])("certificateFindings reports nothing about credentials %s", (_, talos, kube, time) => {
  expect(certificateFindings(talos, kube, time)).toEqual([]);
});
