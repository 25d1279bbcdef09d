import { persistent, waitFor } from "../../components/clients/clock";
import { CallError, type CallErrorKind } from "../../components/clients/failure";
import { FakeClock } from "../program/fakes";

/** A client whose first calls fail. */
class Client {
  asked = 0;
  constructor(
    private fails: number,
    private readonly problem: CallErrorKind = "unreachable",
    private readonly retryAfter?: number,
  ) {}
  async ask(): Promise<string> {
    this.asked++;
    if (this.fails-- > 0) throw new CallError(this.problem, "no answer", this.retryAfter);
    return "answer";
  }
}

test("a call outside of a wait is repeated within bounds if it gets no answer", async () => {
  const clock = new FakeClock();
  expect(await persistent(clock, new Client(2)).ask()).toBe("answer");
  expect(clock.now()).toBe(3_000);
  const dead = new Client(100);
  await expect(persistent(clock, dead).ask()).rejects.toThrow("no answer");
  expect(dead.asked).toBe(5);
});

test.each([
  ["a longer pause than its own is kept", 7_000, 7_000],
  ["a shorter one does not hurry it", 200, 1_000],
  ["one of an hour is bounded", 3_600_000, 30_000],
])("the pause that a server asks for is kept: %s", async (_, asked, waited) => {
  const clock = new FakeClock();
  expect(await persistent(clock, new Client(1, "busy", asked)).ask()).toBe("answer");
  expect(clock.now()).toBe(waited);
});

test.each([
  ["a longer pause than between two looks is kept", 25_000, 25_000],
  ["a shorter one does not hurry it", 200, 10_000],
  ["one of an hour is bounded", 3_600_000, 30_000],
])("a wait keeps the pause that a server asks for: %s", async (_, asked, waited) => {
  const clock = new FakeClock();
  const client = persistent(clock, new Client(1, "busy", asked));
  const look = async () => ({ done: await client.ask() });
  expect(await waitFor(clock, { what: "it", limit: 60_000, poll: 10_000, look })).toBe("answer");
  expect(clock.now()).toBe(waited);
});

test("a server that keeps setting long pauses is given up", async () => {
  const clock = new FakeClock();
  const client = new Client(100, "busy", 3_600_000);
  await expect(persistent(clock, client).ask()).rejects.toThrow("no answer");
  expect(clock.now()).toBe(60_000);
  expect(client.asked).toBe(3);
});

test("a refused call is not repeated", async () => {
  const client = new Client(1, "refused");
  await expect(persistent(new FakeClock(), client).ask()).rejects.toThrow("no answer");
  expect(client.asked).toBe(1);
});

test("a call within a wait is repeated only by the wait", async () => {
  const clock = new FakeClock();
  const client = persistent(clock, new Client(1));
  const look = async () => ({ done: await client.ask() });
  expect(await waitFor(clock, { what: "it", limit: 60_000, poll: 20_000, look })).toBe("answer");
  expect(clock.now()).toBe(20_000);
});
