import { X509Certificate } from "node:crypto";
import { failsWith, schematics } from "../fakes";
import { runPreflight, type PreflightSetup } from "./run-preflight";

/** Certificates of the test's Factory and of another one, made by `openssl req -x509 -newkey ec -subj "/CN=lab …"`. */
const certificates = {
  factory: `-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUaKssfCtN1A4ifnjRe5vXiuYhEBswCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIbGFiIG91cnMwIBcNMjYxMTI5MDcyNzEwWhgPMjEyNjExMDUw
NzI3MTBaMBMxETAPBgNVBAMMCGxhYiBvdXJzMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEFrh+x8tUQjuRA/v1TqvVsyywafj8AM8nYLYeOQzU70BRRkKGW5eIkQ5u
WV3HUiwoDenZdv6WbwqLReNUcJTpsKNTMFEwHQYDVR0OBBYEFHT6H59wVaksbFdB
UXvSaxDPCbS2MB8GA1UdIwQYMBaAFHT6H59wVaksbFdBUXvSaxDPCbS2MA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAJpvb2Cn5WlBrfxC6dNSiKuD
NZWRFzu9KJkM4dhb4EN3AiB27YmN5j/uNqdwrKa08fJQdhbT4bCrfiUMrMT2iITt
4w==
-----END CERTIFICATE-----
`,
  another: `-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUMnDtsWrvaTwaeS0oGHaPc2k1gRUwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKbGFiIHRoZWlyczAgFw0yNjExMjkwNzI3MTBaGA8yMTI2MTEw
NTA3MjcxMFowFTETMBEGA1UEAwwKbGFiIHRoZWlyczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABG0ouM7yQrznG+JW4T3i08HODc5mdDSU7yVzrqHdq5iFFhatS9b0
iCdYMH2w+OplsLvsrLW9NhTlN1lK0SZZPt2jUzBRMB0GA1UdDgQWBBQ6eMeRmXJw
7IJXrKgllHJK2zm7CTAfBgNVHSMEGDAWgBQ6eMeRmXJw7IJXrKgllHJK2zm7CTAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCc76E1mhprO0MFQozN
orBAgTfpnvGW/Sx+AYz+uXacogIgUnRbv9yXcdDZnqYhCGvTdOf78zyGP77L0wRT
QlcGQBw=
-----END CERTIFICATE-----
`,
};

/**
 * The firmware's variable with a certificate, in the form that a client reads: attributes, EFI_SIGNATURE_LIST,
 * owner, content.
 */
const firmwareKeys = (pem: string): string =>
  Buffer.concat([
    Buffer.from("27000000a159c0a5e494a74a87b5ab155c2bf07250030000000000003403000", "hex"),
    Buffer.from("77fa9abd0359d32bd60b28f2e78f784b", "hex"),
    new X509Certificate(pem).raw,
    Buffer.from([0xc3, 0x28]),
  ]).toString("utf8");

const installer = `factory.example.com/metal-installer-secureboot/${schematics.gpu}:v1.12.6`;
const locations = {
  certificate: "https://factory.example.com/secureboot/signing-cert.pem",
  file: "/sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f",
};
const runningImage = { extensions: {}, configuredArgs: [], platform: "metal", secureBoot: true };
const signedSetup = (setup: Partial<PreflightSetup> = {}): Partial<PreflightSetup> => ({
  machines: [{ installerImage: installer }],
  webByUrl: { [locations.certificate]: { status: 200, body: certificates.factory } },
  machine: { runningImage, files: { [locations.file]: firmwareKeys(certificates.factory) } },
  ...setup,
});

test("an image that is signed with a key of the firmware is accepted", async () => {
  const { outcome, lines } = await runPreflight(signedSetup());
  expect(outcome).toHaveProperty("machines");
  expect(lines.filter((line) => line.includes("the key of"))).toEqual([]);
});

test("an image that is signed with another key is refused", async () => {
  const { outcome } = await runPreflight(
    signedSetup({
      machine: { runningImage, files: { [locations.file]: firmwareKeys(certificates.another) } },
    }),
  );
  expect(outcome).toEqual([
    expect.stringMatching(
      /^machines\.gpu-1\.secureBoot: the firmware does not have the key with which factory\.example\.com signs .*; set factoryUrl .*signing-cert\.pem/,
    ),
  ]);
});

test.each<[string, Partial<PreflightSetup>]>([
  [
    "the Factory serves no certificate",
    { webByUrl: { [locations.certificate]: { status: 404, body: "" } } },
  ],
  [
    "the Factory's answer is no certificate",
    { webByUrl: { [locations.certificate]: { status: 200, body: "<html>" } } },
  ],
  ["the firmware has no variable with keys", { machine: { runningImage } }],
  [
    "the firmware's variable cannot be read",
    { machine: { runningImage, read: failsWith("refused", "denied") } },
  ],
])("a line reports that the key is unknown if %s", async (_, setup) => {
  const { outcome, lines } = await runPreflight(signedSetup(setup));
  expect(outcome).toHaveProperty("machines");
  expect(lines).toContainEqual(
    expect.stringMatching(/gpu-1: not known whether its firmware has the key of factory\.example/),
  );
});

test("the keys of a firmware without Secure Boot are not checked", async () => {
  const { outcome, lines } = await runPreflight(
    signedSetup({
      machine: {
        runningImage: { ...runningImage, secureBoot: false },
        files: { [locations.file]: firmwareKeys(certificates.another) },
      },
    }),
  );
  expect(outcome).toHaveProperty("machines");
  expect(lines.filter((line) => line.includes("the key of"))).toEqual([]);
});
