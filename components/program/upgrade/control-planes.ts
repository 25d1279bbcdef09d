import { isIPv6 } from "node:net";
import { insist } from "../../clients/clock";
import { isSelfSigned } from "../../clients/certificates";
import { type FindingText, isTransient, lastLine, type FieldFinding } from "../../clients/failure";
import type { EtcdMember, Machine } from "../../clients/talos/talos-machine";
import type { UpgradeTask } from "../task";
import type { Run } from "./run";

/**
 * Reasons why a control plane must not reboot now. There are three possible reasons: an etcd member does not vote or is
 * not healthy; etcd has exactly two members; another control plane is down, in the stack or outside of it.
 * LifecycleService.Upgrade and Reboot check none of this; MachineService.Upgrade checks only etcd (talos v1.13.9
 * internal/app/lifecycle/lifecycle.go, internal/pkg/etcd).
 *
 * @param paused whether Talos has paused the machine's boot. Talos has then usually not started etcd, and the reboot of
 * a member that is down costs no quorum. If etcd runs, e.g. while the boot waits for a driver, the machine's member is
 * checked like any other.
 * @param reboots whether the update reboots the machine. A change without a reboot leaves etcd's quorum, also with two
 * members.
 */
export async function checkControlPlanes(
  run: Run,
  paused: boolean,
  reboots: boolean,
): Promise<FieldFinding[]> {
  if (run.task.role !== "controlplane") return [];
  const isEtcdDown = paused && (await run.machine.services())["etcd"] !== "Running";
  const members = isEtcdDown ? [] : await run.machine.etcdMembers();
  const { uninstalled, findings } = await checkOthers(run, members);
  return isEtcdDown
    ? findings
    : [...(await checkMembers(run, members, { uninstalled, reboots })), ...findings];
}

/**
 * Checks the machine's own etcd, and etcd members that are not in the stack.
 *
 * @param others.uninstalled addresses of control planes that the stack installs after this one.
 */
async function checkMembers(
  run: Run,
  members: EtcdMember[],
  { uninstalled, reboots }: { uninstalled: readonly string[]; reboots: boolean },
): Promise<FieldFinding[]> {
  const { task, machine } = run;
  const finding = findingOf(task);
  const problems = await machine.etcdProblems();
  const findings = [
    ...(reboots && members.length === 2 ? twoMembersFindings(run, uninstalled) : []),
    ...members
      .filter(({ learner }) => learner)
      .map((member) =>
        finding({
          problem: `etcd member ${member.hostname} is a learner`,
          why: "a learner does not vote yet, so etcd has fewer voting members than its list shows",
          remedy: "wait until the learner has caught up, then run again",
        }),
      ),
    ...problems.map((problem) =>
      finding({
        problem: `its etcd member reports: ${problem}`,
        why: "an upgrade may lose the quorum",
        remedy: "repair etcd (`talosctl etcd status`) and run again",
      }),
    ),
  ];
  for (const member of await unknownMembers(members, run))
    findings.push(...(await checkUnknownMember(member, run)));
  return findings;
}

/**
 * Finding about the reboot of one of two etcd members. There is none while the stack creates the cluster: its next
 * control plane joins only after this one is up to date, and the cluster runs no workloads yet.
 */
function twoMembersFindings(
  { task, isNew, report }: Run,
  uninstalled: readonly string[],
): FieldFinding[] {
  if (isNew && uninstalled.length > 0) {
    report(
      `precheck: etcd has two members until ${uninstalled.join(", ")} joins, so the Kubernetes API stops during the reboot`,
    );
    return [];
  }
  return [
    findingOf(task)({
      problem: "etcd has two members",
      why: "while one member reboots, the other has no quorum, and the Kubernetes API stops",
      remedy: "add a third control plane, or remove one member with `talosctl etcd leave`",
    }),
  ];
}

/**
 * Checks the stack's other control planes.
 *
 * @returns `uninstalled`: addresses of machines in maintenance mode, which the stack installs later. They are no etcd
 * members, so the quorum does not need them.
 */
async function checkOthers(
  { task, others, clock }: Run,
  members: EtcdMember[],
): Promise<{ uninstalled: string[]; findings: FieldFinding[] }> {
  const memberAddresses = new Set(members.flatMap(addressesOf).map(canonical));
  const uninstalled: string[] = [];
  const findings: FieldFinding[] = [];
  for (const [address, otherMachine] of others) {
    try {
      findings.push(...(await insist(clock, () => healthOf(address, otherMachine, task))));
    } catch (error) {
      if (task.installs && isSelfSigned(error) && !memberAddresses.has(canonical(address))) {
        uninstalled.push(address);
        continue;
      }
      findings.push(
        findingOf(task)({
          problem: `control plane ${address} does not answer (${lastLine(error)})`,
          why: "if two control planes are down at the same time, etcd may lose its quorum",
          remedy: "start that control plane, then run again",
        }),
      );
    }
  }
  return { uninstalled, findings };
}

/**
 * Checks stage and etcd of another control plane.
 *
 * @throws CallError if the other control plane does not report its stage.
 */
async function healthOf(
  address: string,
  otherMachine: Machine,
  task: UpgradeTask,
): Promise<FieldFinding[]> {
  const finding = findingOf(task);
  const { stage } = await otherMachine.status();
  const problems = await otherMachine.etcdProblems().catch((error: unknown) => {
    if (isTransient(error)) throw error;
    return [lastLine(error)]; // the machine answers but has no etcd, e.g. because it became a worker
  });
  return [
    ...(stage === "running"
      ? []
      : [
          finding({
            problem: `control plane ${address} is in stage ${stage}`,
            why: "if two control planes are down at the same time, etcd may lose its quorum",
            remedy: "wait until it is running, then run again",
          }),
        ]),
    ...problems.map((problem) =>
      finding({
        problem: `the etcd member at ${address} reports: ${problem}`,
        why: "an upgrade may lose the quorum",
        remedy: "repair etcd (`talosctl etcd status`) and run again",
      }),
    ),
  ];
}

/**
 * Etcd members whose machines are not control planes of the stack. A machine may announce to etcd an address that is
 * not in the stack (`cluster.etcd.advertisedSubnets`). So if a member's address is not in the stack, the function asks
 * the stack's control planes for their member IDs.
 */
async function unknownMembers(
  members: EtcdMember[],
  { task, machine, others, clock }: Run,
): Promise<EtcdMember[]> {
  const knownAddresses = new Set([task.address, ...others.keys()].map(canonical));
  const membersElsewhere = members.filter(
    (member) => !addressesOf(member).some((address) => knownAddresses.has(address)),
  );
  if (membersElsewhere.length === 0) return [];
  const knownIds = new Set<string | undefined>();
  for (const controlPlane of [machine, ...others.values()])
    knownIds.add(await insist(clock, () => controlPlane.etcdMember()).catch(() => undefined));
  return membersElsewhere.filter(({ id }) => !knownIds.has(id));
}

/**
 * Checks an etcd member that is not in the stack, because this member counts for the quorum as well. The program asks
 * the member's machine, with the stack's credentials. If the machine refuses these credentials, or the member has no
 * address, the program reports that, and the update goes on.
 */
async function checkUnknownMember(
  member: EtcdMember,
  { task, machine, report, clock }: Run,
): Promise<FieldFinding[]> {
  const memberText = `etcd member ${member.hostname || member.id}, not in the stack`;
  const addresses = addressesOf(member);
  if (addresses.length === 0) {
    report(
      `precheck: ${memberText}: its health is unknown, because it has no address (${member.urls.join(", ") || "no URL"})`,
    );
    return [];
  }
  const errors: unknown[] = [];
  for (const address of addresses) {
    try {
      return await insist(clock, () =>
        healthOf(`${address} (${memberText})`, machine.at(address), task),
      );
    } catch (error) {
      errors.push(error);
    }
  }
  const lastingError = errors.find((error) => !isTransient(error));
  if (lastingError === undefined) {
    const address = `${addresses.join(", ")} (${memberText})`;
    return [
      findingOf(task)({
        problem: `control plane ${address} does not answer (${lastLine(errors[0])})`,
        why: "if two control planes are down at the same time, etcd may lose its quorum",
        remedy:
          "start that control plane and run again. If it will not return, remove its member with `talosctl etcd remove-member`",
      }),
    ];
  }
  report(
    `precheck: ${memberText}: its health is unknown, because the request failed (${lastLine(lastingError)})`,
  );
  return [];
}

const findingOf =
  ({ machine }: UpgradeTask) =>
  (finding: FindingText): FieldFinding => ({ field: `machines.${machine}`, ...finding });

/** The addresses in a member's URLs, without duplicates. */
function addressesOf({ urls }: EtcdMember): string[] {
  const hosts = urls.map((url) =>
    URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "",
  );
  return [...new Set(hosts.filter((host) => host !== ""))];
}

/** An address as a URL writes it, because IPv6 has several notations for one address. */
const canonical = (address: string): string =>
  isIPv6(address) ? new URL(`https://[${address}]`).hostname.slice(1, -1) : address.toLowerCase();
