import type { Ended, Stand } from "./stand";

/** What goes wrong on a machine that runs Talos itself, what the program says of it, and what comes of its remedy. */
export interface Row {
  name: string;
  /** What the machine is before: our part of its configuration waits for a boot, and maybe an image does. */
  from: "adopted" | "installed";
  /** What comes before the run. */
  given?(stand: Stand): Promise<unknown>;
  run(stand: Stand): Promise<Ended>;
  code: 0 | 1;
  /** What the program says. */
  says: RegExp[];
  /** Seconds within which it ends, on a computer whose cores are busy. */
  within: number;
  /** Whether the machine is as it was afterwards: the same boot, configuration and number of installations. */
  untouched?: boolean;
  /** Follows the remedy, and throws where it does not help. */
  then?(stand: Stand): Promise<void>;
}

const equal = (what: string, is: unknown, wanted: unknown): void => {
  if (is !== wanted) throw new Error(`${what}: ${String(is)}, not ${String(wanted)}`);
};

const part = (content: string): object => ({
  op: "create",
  path: "/etc/cri/conf.d/20-customization.part",
  permissions: 0o644,
  content,
});
const unpacked = part('[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = true\n');
const nvidiaByDefault = part(
  '[plugins."io.containerd.cri.v1.runtime".containerd]\n  default_runtime_name = "nvidia"\n',
);

export const rows: readonly Row[] = [
  {
    name: "an installer that its registry does not know",
    from: "adopted",
    run: (stand) =>
      stand.start(
        "upgrade",
        stand.gpuTask({ installerImage: `factory.talos.dev/metal-installer/${"0".repeat(64)}:v1.13.0` }),
      ).ended,
    code: 1,
    says: [/it could not pull \S+: .*code = NotFound/, /nothing was changed on it/],
    within: 60,
    untouched: true,
  },
  {
    name: "an owner's containerd part where the stack has one",
    from: "adopted",
    given: (stand) => stand.stage({ machine: { files: [unpacked] } }),
    run: (stand) =>
      stand.start("adopt", stand.adoption(JSON.stringify({ machine: { files: [nvidiaByDefault] } }))).ended,
    code: 1,
    says: [/20-customization\.part/],
    within: 30,
    untouched: true,
  },
  {
    name: "another image than the wanted one is installed and waits for its boot",
    from: "installed",
    run: (stand) => stand.start("upgrade", stand.upgradeTo(stand.schematics.modules)).ended,
    code: 1,
    says: [/another image than the wanted one is installed on it and waits for its boot: \S+/, /rollback/],
    within: 60,
    untouched: true,
    then: async (stand) => {
      const before = await stand.bootId();
      await stand.talosctl("rollback");
      await stand.until("it goes back", 10, async () => (await stand.bootId()) !== before);
      equal("the machine runs", await stand.schematic(), stand.schematics.plain);
    },
  },
];
