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
  done: boolean;
  /** Seconds until the caller gets the error. */
  seconds: number;
  /** Error text of talosctl and omnictl (grpc-go: a proxy's HTTP status becomes `Unavailable`). */
  says: string;
  /** Error code of the connection to Kubernetes; undefined if there is an answer. */
  code?: string;
  /** HTTP code of Kubernetes' answer. */
  status?: number;
}

const unavailable = "rpc error: code = Unavailable desc =";

/** The tested ways. */
export const faultKinds: readonly Fault[] = [
  {
    name: "refused",
    done: false,
    seconds: 0,
    says: `${unavailable} connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:50000: connect: connection refused"`,
    code: "ECONNREFUSED",
  },
  {
    name: "reset in the middle of the answer",
    done: true,
    seconds: 0,
    says: `${unavailable} error reading from server: read tcp 10.0.0.9: connection reset by peer`,
    code: "ECONNRESET",
  },
  {
    name: "cut off",
    done: true,
    seconds: 0,
    says: `${unavailable} error reading from server: EOF`,
    status: 200,
  },
  {
    name: "no answer in time",
    done: true,
    seconds: 30,
    says: "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    code: "ETIMEDOUT",
  },
  {
    name: "429",
    done: false,
    seconds: 0,
    says: `${unavailable} unexpected HTTP status code received from server: 429 (Too Many Requests)`,
    status: 429,
  },
  {
    name: "503",
    done: false,
    seconds: 0,
    says: `${unavailable} unexpected HTTP status code received from server: 503 (Service Unavailable)`,
    status: 503,
  },
];

/** The calls of a run. One of them may fail. */
export class Calls {
  readonly made: string[] = [];

  constructor(
    private readonly clock: FakeClock,
    private readonly failing: { at: number; fault: Fault } | undefined,
  ) {}

  /** Makes a call; `fails` gives the error of the call that must fail. */
  async meet<T>(
    call: string,
    act: () => Promise<T>,
    fails: (fault: Fault, answer: T | undefined) => T,
  ): Promise<T> {
    const at = this.made.push(call) - 1;
    if (at !== this.failing?.at) return act();
    const { fault } = this.failing;
    const answer = fault.done ? await act() : undefined;
    await this.clock.sleep(fault.seconds * 1_000);
    return fails(fault, answer);
  }

  /** A client of Talos or Omni, each call of which may fail. */
  ofTalos<Client extends object>(client: Client): Client {
    return this.through(client, ({ says }) => {
      throw new CallError(classify(says), says);
    });
  }

  /** A fake of Kubernetes whose methods count as its calls. */
  ofKubernetes<Client extends object>(client: Client): Client {
    return this.through(client, ({ code = "ECONNRESET", status }) => {
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
    api["send"] = (url, asking, options) =>
      this.meet<Answer>(
        `${asking.method ?? "GET"} ${new URL(url).pathname}`,
        () => send(url, asking, options),
        ({ code, status }, answer) => {
          if (code !== undefined) throw Object.assign(new Error(code), { code });
          return answer === undefined
            ? statusAnswer(status!)
            : { ...answer, body: answer.body.slice(0, Math.ceil(answer.body.length / 2)) };
        },
      );
  }

  private through<Client extends object>(client: Client, fails: (fault: Fault) => never): Client {
    return new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "at")
          return (address: string) =>
            this.through((value as (at: string) => Client).call(target, address), fails);
        return (...args: unknown[]) =>
          this.meet(
            String(name),
            () => (value as (...args: unknown[]) => Promise<unknown>).apply(target, args),
            fails,
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
