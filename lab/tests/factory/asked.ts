import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** What an Image Factory is asked, and what the real one answers. */
interface Answers {
  taken: [body: string, id: string][];
  refused: [body: string, words: string][];
  requests: Record<string, string>;
}

/**
 * Asks a Factory all of answers.yaml.
 *
 * @param release one that it has
 * @param ownWords whether it says of a schematic that it refuses what it likes
 * @returns each request with what came, and with what the real one answers
 */
export async function asked(
  url: string,
  release: string,
  ownWords = false,
): Promise<{ came: string[]; real: string[] }> {
  const text = fs
    .readFileSync(path.join(__dirname, "answers.yaml"), "utf8")
    .replaceAll("RELEASE", release);
  const { taken, refused, requests } = parse(text) as Answers;
  const real = [
    ...taken.map(([body, id]) => `${body}: 201 application/json ${id}`),
    ...refused.map(([body, words]) => {
      const problem = words === "EOF" ? words : `yaml: construct errors:\n  ${words}`;
      return `${body}: 400 text/plain; charset=utf-8 ${ownWords ? "" : problem}`;
    }),
    ...Object.entries(requests).map(([request, answer]) => `${request}: ${answer}`),
  ];
  const ask = async (request: string, body?: string): Promise<string> => {
    const isRefused = refused.some(([each]) => each === body);
    const [method, route] = request.split(" ") as [string, string];
    const answer = await fetch(url + route, { method, ...(body === undefined ? {} : { body }) });
    const words = (await answer.text()).trimEnd();
    const said =
      answer.status === 201
        ? (JSON.parse(words) as { id: string }).id
        : isRefused && ownWords
          ? ""
          : words;
    return `${body ?? request}: ${answer.status} ${answer.headers.get("content-type") ?? ""} ${said}`;
  };
  const came: string[] = [];
  for (const [body] of [...taken, ...refused]) came.push(await ask("POST /schematics", body));
  for (const request of Object.keys(requests)) came.push(await ask(request));
  return { came, real };
}
