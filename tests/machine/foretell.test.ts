import { foretold } from "../../components/machine/foretell";
import { machineStates } from "../../components/recipe/effect/effects";
import { planOf } from "../support/plans";

const state = (talosVersion: string) => machineStates(planOf("rtx5070ti", { talosVersion }))["k8s-worker4"]!;
const [older, newer] = [state("v1.12.6"), state("v1.12.7")];
const isUp = { talosVersion: "v1.12.6" };

test.each<[string, Parameters<typeof foretold>, RegExp]>([
  ["an edit", ["gpu-1", older, isUp, newer], /^reboots: yes: talosVersion: v1\.12\.6 → v1\.12\.7/],
  // Pulumi may find nothing to do for the machine, whatever the failed update did to it.
  [
    "an edit taken back whose update failed",
    ["gpu-1", newer, {}, older],
    /^reboots: only if .*the update before failed/,
  ],
  [
    "a machine that is new",
    ["gpu-1", undefined, undefined, older],
    /^reboots: only if it does not run Talos v1\.12\.6/,
  ],
])("%s: the word", (_, known, word) => {
  const told = foretold(...known);
  expect(told.word).toMatch(word);
  expect(told.refused).toBeUndefined();
});

test.each<[string, Parameters<typeof foretold>, RegExp | undefined]>([
  ["a downgrade", ["gpu-1", newer, { talosVersion: "v1.12.7" }, older], /^machines\.gpu-1\.talosVersion: .*downgrades/],
  [
    "another owner of a configuration that was adopted",
    ["gpu-1", { ...older, configuration: "adopted" }, isUp, { ...older, configuration: "owned" }],
    /^machines\.gpu-1\.configuration: changes from adopted to owned; .*; write adopted, or/,
  ],
  [
    "the same, where the update before failed: the preflight remembers whether it came to the machines",
    ["gpu-1", { ...older, configuration: "adopted" }, {}, { ...older, configuration: "owned" }],
    undefined,
  ],
])("%s: whether it is refused", (_, known, refused) => {
  if (refused === undefined) expect(foretold(...known).refused).toBeUndefined();
  else expect(foretold(...known).refused).toMatch(refused);
});
