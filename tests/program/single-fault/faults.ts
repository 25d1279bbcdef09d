import { CallError } from "../../../components/clients/failure";
import type { KubernetesApi } from "../../../components/clients/kubernetes/api";
import {
  answerProblem,
  connectionProblem,
  type Answer,
} from "../../../components/clients/kubernetes/error";
import { classify } from "../../../components/clients/talos/talosctl";
import type { FakeClock } from "../fakes";

/** A way in which a single call fails. */
export interface Fault {
  name: string;
  /** Whether the call takes effect, and only its answer is lost. */
  takesEffect: boolean;
  /** Seconds until the caller gets the error. */
  seconds: number;
  /** Error text of talosctl and omnictl (grpc-go: a proxy's HTTP status becomes `Unavailable`). */
  talosError: string;
  /** Error code of the connection to Kubernetes; undefined if there is an answer. */
  connectionError?: string;
  /** HTTP code of Kubernetes' answer. */
  status?: number;
}

const unavailable = "rpc error: code = Unavailable desc =";

/** The tested faults. */
export const faultKinds: readonly Fault[] = [
  {
    name: "refused",
    takesEffect: false,
    seconds: 0,
    talosError: `${unavailable} connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:50000: connect: connection refused"`,
    connectionError: "ECONNREFUSED",
  },
  {
    name: "reset in the middle of the answer",
    takesEffect: true,
    seconds: 0,
    talosError: `${unavailable} error reading from server: read tcp 10.0.0.9: connection reset by peer`,
    connectionError: "ECONNRESET",
  },
  {
    name: "cut off",
    takesEffect: true,
    seconds: 0,
    talosError: `${unavailable} error reading from server: EOF`,
    status: 200,
  },
  {
    name: "no answer in time",
    takesEffect: true,
    seconds: 30,
    talosError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    connectionError: "ETIMEDOUT",
  },
  {
    name: "429",
    takesEffect: false,
    seconds: 0,
    talosError: `${unavailable} unexpected HTTP status code received from server: 429 (Too Many Requests)`,
    status: 429,
  },
  {
    name: "503",
    takesEffect: false,
    seconds: 0,
    talosError: `${unavailable} unexpected HTTP status code received from server: 503 (Service Unavailable)`,
    status: 503,
  },
];

/** The calls of a run. One of them may fail. */
export class Calls {
  readonly callNames: string[] = [];

  constructor(
    private readonly clock: FakeClock,
    private readonly failing: { index: number; fault: Fault } | undefined,
  ) {}

  /** Makes a call. If it is the call that must fail, `failCall` throws its error or returns its broken answer. */
  async makeCall<T>(
    call: string,
    perform: () => Promise<T>,
    failCall: (fault: Fault, answer: T | undefined) => T,
  ): Promise<T> {
    const index = this.callNames.push(call) - 1;
    if (index !== this.failing?.index) return perform();
    const { fault } = this.failing;
    const answer = fault.takesEffect ? await perform() : undefined;
    await this.clock.sleep(fault.seconds * 1_000);
    return failCall(fault, answer);
  }

  /** A client of Talos or Omni, each call of which may fail. */
  ofTalos<Client extends object>(client: Client): Client {
    return this.wrap(client, ({ talosError }) => {
      throw new CallError(classify(talosError), talosError);
    });
  }

  /** A fake of Kubernetes whose methods count as its calls. */
  ofKubernetes<Client extends object>(client: Client): Client {
    return this.wrap(client, ({ connectionError: code = "ECONNRESET", status }) => {
      throw status === undefined || status === 200
        ? connectionProblem(
            "a call",
            "https://api",
            Object.assign(new Error(code), { code }),
            30_000,
            [],
          )
        : answerProblem("a call", "https://api", statusAnswer(status), []);
    });
  }

  /** Makes each request to a Kubernetes API one that may fail. */
  ofApi(api: KubernetesApi): void {
    const send = api["send"].bind(api);
    api["send"] = (url, request, options) =>
      this.makeCall<Answer>(
        `${request.method ?? "GET"} ${new URL(url).pathname}`,
        () => send(url, request, options),
        ({ connectionError: code, status }, answer) => {
          if (code !== undefined) throw Object.assign(new Error(code), { code });
          return answer === undefined
            ? statusAnswer(status!)
            : { ...answer, body: answer.body.slice(0, Math.ceil(answer.body.length / 2)) };
        },
      );
  }

  private wrap<Client extends object>(client: Client, throwError: (fault: Fault) => never): Client {
    return new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "at")
          return (address: string) =>
            this.wrap((value as (at: string) => Client).call(target, address), throwError);
        return (...args: unknown[]) =>
          this.makeCall(
            String(name),
            () => (value as (...args: unknown[]) => Promise<unknown>).apply(target, args),
            throwError,
          );
      },
    });
  }
}

const statusAnswer = (status: number): Answer => ({
  status,
  headers: status === 429 ? { "retry-after": "1" } : {},
  body: JSON.stringify({ kind: "Status", message: `answered with ${status}` }),
});
