import { callKubernetes } from "../../../components/clients/kubernetes/call";

/** What a request makes of an error of the client. */
async function madeOf(error: Error): Promise<{ problem?: string; message: string }> {
  return callKubernetes([], "node gpu-1", () => Promise.reject(error)).then(
    () => ({ message: "no error" }),
    (made: { problem?: string; message: string }) => made,
  );
}

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test.each([
  ["a refused connection", withCode("connect ECONNREFUSED 10.0.0.1:6443", "ECONNREFUSED")],
  ["a name that is not known yet", withCode("getaddrinfo ENOTFOUND api.home", "ENOTFOUND")],
  ["a connection that ends early", new Error("socket hang up")],
  ["one that the client has wrapped", new Error("fetch failed", { cause: withCode("read", "ECONNRESET") })],
])("%s may pass", async (_, error) => expect((await madeOf(error)).problem).toBe("unreachable"));

test.each([
  [
    "a certificate of another cluster",
    withCode("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"),
    /self-signed/,
  ],
  [
    "an address that is no URL",
    Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" }),
    /Invalid URL/,
  ],
  [
    "a missing program of the kubeconfig",
    withCode("spawn kubelogin ENOENT", "ENOENT"),
    /asks kubelogin for credentials .* install it/,
  ],
])("%s does not, and is told at once", async (_, error, words) => {
  const { problem, message } = await madeOf(error);
  expect(problem).toBe("refused");
  expect(message).toMatch(words);
});

test("a mistake of this program's own is no answer of Kubernetes", async () => {
  const mistake = new TypeError("cannot read properties of undefined");
  expect(await madeOf(mistake)).toBe(mistake);
});
