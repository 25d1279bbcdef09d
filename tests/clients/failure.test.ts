import { Failure } from "../../components/clients/failure";
import { redact } from "../../components/recipe/rules/redact";
import { classify } from "../../components/clients/talos/talosctl";

test.each([
  [
    'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:50000: connect: connection refused"',
    "unreachable",
  ],
  ["rpc error: code = DeadlineExceeded desc = context deadline exceeded", "unreachable"],
  [
    'rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"',
    "refused",
  ],
  [
    "authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    "unreachable",
  ],
  [
    "error during upgrade: rpc error: code = FailedPrecondition desc = upgrade is already in progress",
    "busy",
  ],
  ["rpc error: code = Unimplemented desc = unknown method Pull", "unimplemented"],
  [
    "error reading: rpc error: code = Unknown desc = stat /proc/driver/nvidia/version: no such file or directory",
    "missing",
  ],
  ["rpc error: code = PermissionDenied desc = not authorized", "refused"],
  ["rpc error: code = InvalidArgument desc = bad configuration", "refused"],
  ['rpc error: code = InvalidArgument desc = unknown keys found: "locked": EOF', "refused"],
  ["upgrade is locked by another upgrade", "busy"],
  ["the request was blocked by a policy", "refused"],
  ["dial tcp: lookup cp-1.home on 10.0.0.1:53: no such host", "unreachable"],
])("classify treats the error %j as %s", (text, problem) => expect(classify(text)).toBe(problem));

test("redact removes credentials from a message, and keeps digests", () => {
  const schematic = "6698d6f136c5bb37ca8bb8482c9084305084da0a5ead1f4dcae760796f8ab3a2";
  const base64 = "TUlJQ2V6Q0NBYUlDQ1FDQnBrUFRMd3ZyRVRBTkJna3Foa2lHOXcwQkFRc0ZBREFXTVJRd0VnWURWUVFE";
  const text = `token: zp8du1.0gn7ja4tmx6qulju key=${base64} image x/${schematic}:v1.12.6 crt ${base64}\n-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nsaid hunter2hunter2`;
  const redactedText = redact(text, ["hunter2hunter2"]);
  for (const secret of ["zp8du1", base64, "abc", "hunter2"])
    expect(redactedText).not.toContain(secret);
  expect(redactedText).toContain(schematic);
});

test("a failure's message has all of its findings", () => {
  const finding = { field: "f", problem: "p", why: "w", remedy: "r" };
  expect(new Failure(finding, { ...finding, field: "g" }).message).toBe("f: p; w; r\ng: p; w; r");
});
