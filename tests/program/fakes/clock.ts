import type { Clock } from "../../../components/clients/clock";

/** A clock whose time passes at once when a caller sleeps. It runs the callbacks that are due meanwhile. */
export class FakeClock implements Clock {
  private time = 0;
  private due: { at: number; what: () => void }[] = [];

  now(): number {
    return this.time;
  }

  async sleep(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.due.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.due = this.due.filter((item) => item !== next);
      this.time = next.at;
      next.what();
    }
    this.time = end;
  }

  after(seconds: number, what: () => void): void {
    this.due.push({ at: this.time + seconds * 1_000, what });
  }
}
