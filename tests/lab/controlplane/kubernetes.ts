import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as https from "node:https";
import { untilSeen } from "../../../lab/until";

/** What the API server answered. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A request to the API of a kubeconfig whose certificates are embedded, as the lab's are. */
export function request(kubeconfig: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const content = fs.readFileSync(kubeconfig, "utf8");
  const field = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(content)?.[1] ?? "";
  const pem = (name: string): Buffer => Buffer.from(field(name), "base64");
  const options = {
    method,
    ca: pem("certificate-authority-data"),
    cert: pem("client-certificate-data"),
    key: pem("client-key-data"),
    headers: { "Content-Type": "application/json" },
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const sent = https.request(field("server") + path, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: parse(text) }));
    });
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The processes whose command line names the folder. */
export function processesOf(folder: string): string[] {
  const all = execFileSync("ps", ["-axww", "-o", "pid,command"], { encoding: "utf8" });
  return all.split("\n").filter((line) => line.includes(folder));
}

/** Waits for a condition that no event announces, such as the end of somebody else's child. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, limit = 5_000): Promise<void> {
  await untilSeen(what, { seconds: limit / 1000, every: 20 }, holds, Boolean);
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
