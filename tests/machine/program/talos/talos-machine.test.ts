import type { SecretFiles } from "../../../../components/machine/program/credentials";
import { TalosMachine } from "../../../../components/machine/program/talos/talos-machine";
import type { Talosctl } from "../../../../components/machine/program/talos/talosctl";

/** In the form of talosctl v1.13 (cmd/talosctl/cmd/talos/etcd.go). */
const printed: Record<string, string> = {
  "etcd members": [
    "NODE       ID                 HOSTNAME   PEER URLS                                        CLIENT URLS              LEARNER",
    "10.0.0.1   4d5a3b2c1f0e9d8c   cp-1       https://10.0.0.1:2380,https://[fd00::1]:2380     https://10.0.0.1:2379    false",
    "10.0.0.1   84f1e2d3c4b5a697              https://10.0.0.2:2380                                                     true",
  ].join("\n"),
  "etcd status": [
    "NODE       MEMBER             DB SIZE   IN USE           LEADER             RAFT INDEX   ERRORS",
    "10.0.0.1   4d5a3b2c1f0e9d8c   20 MB     10 MB (50.00%)   4d5a3b2c1f0e9d8c   1000         ",
  ].join("\n"),
};

function machine() {
  const nodes: string[] = [];
  const talosctl = {
    run: async (args: readonly string[]) => (nodes.push(args.at(-1)!), printed[args.slice(0, 2).join(" ")]!),
  };
  return { nodes, machine: new TalosMachine(talosctl as unknown as Talosctl, "10.0.0.1", {} as SecretFiles) };
}

test("members of etcd come with all their URLs; one that has not started has those for its peers alone", async () => {
  expect(await machine().machine.etcdMembers()).toEqual([
    {
      ...{ id: "4d5a3b2c1f0e9d8c", hostname: "cp-1", learner: false },
      urls: ["https://10.0.0.1:2380", "https://[fd00::1]:2380", "https://10.0.0.1:2379"],
    },
    { id: "84f1e2d3c4b5a697", hostname: "", learner: true, urls: ["https://10.0.0.2:2380"] },
  ]);
});

test("its own member is the one of its status", async () => {
  expect(await machine().machine.etcdMember()).toBe("4d5a3b2c1f0e9d8c");
});

test("the machine at another address is asked with the same talosctl", async () => {
  const { nodes, machine: one } = machine();
  expect(await one.at("10.0.0.2").etcdProblems()).toEqual([]);
  expect(nodes).toEqual(["10.0.0.2"]);
});
