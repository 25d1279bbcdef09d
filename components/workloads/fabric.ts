import type * as k8s from "@pulumi/kubernetes";
import { envList, unprivileged } from "../kubernetes/pods";
import type { FabricSpec } from "../recipe/spec/index";

/** Inputs of the check of the network between cards. */
interface Checked extends FabricSpec {
  image: string;
  /** Number of cards in each machine. */
  cards: number;
  /** Seconds for which a pod waits for the group's other pods, which may still pull their image. */
  limit: number;
}

/**
 * Init container of each pod of a server over several machines. Before the server starts, it checks the network between
 * the cards of all machines. It uses the server's image.
 */
export const fabricCheck = ({
  image,
  cards,
  limit,
  leastBandwidth = 0,
  settings,
}: Checked): k8s.types.input.core.v1.Container => ({
  name: "fabric",
  image,
  command: ["python3", "-c", program],
  env: envList({
    ...settings,
    CARDS: `${cards}`,
    LEAST_BANDWIDTH: `${leastBandwidth}`,
    LIMIT: `${limit}`,
  }),
  securityContext: { ...unprivileged, runAsUser: 0 },
  terminationMessagePolicy: "FallbackToLogsOnError",
});

/**
 * Script that runs an all-reduce over all cards of the group, with PyTorch and its NCCL. It ends with success once the
 * cards are connected and fast enough. Until then it logs the reason and retries, because after a failure
 * LeaderWorkerSet would replace the group, and the log would be lost. It fails only if other pods of the group do not
 * connect, e.g. because they were replaced and this pod was not.
 *
 * The script forks a process for each card before it initializes CUDA (docs.pytorch.org, multiprocessing). Bus
 * bandwidth: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
 */
const program = `
import datetime, os, signal, sys, time, traceback
import torch, torch.distributed as dist

host, machines, machine = os.environ["LWS_LEADER_ADDRESS"], int(os.environ["LWS_GROUP_SIZE"]), int(os.environ["LWS_WORKER_INDEX"])
cards, least, limit = int(os.environ["CARDS"]), float(os.environ["LEAST_BANDWIDTH"]), int(os.environ["LIMIT"])
world, alone = machines * cards, 3

def all_reduce(card):
    rank, patience = machine * cards + card, datetime.timedelta(seconds=limit)
    torch.cuda.set_device(card)
    store = dist.TCPStore(host, 29500, world, is_master=rank == 0, timeout=patience)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=world, timeout=datetime.timedelta(minutes=2))
    data = torch.ones(2**26, device="cuda")
    for round in range(13):
        if round == 3:
            torch.cuda.synchronize()
            began = time.monotonic()
        dist.all_reduce(data, dist.ReduceOp.AVG)
    torch.cuda.synchronize()
    spent = torch.tensor([time.monotonic() - began], device="cuda")
    dist.all_reduce(spent, dist.ReduceOp.MAX)
    rate = 10 * data.nbytes / spent.item() * 2 * (world - 1) / world / 1e9
    dist.destroy_process_group()
    slow = rate < least
    if card == 0:
        floor = f", below the floor of {least:g} GB/s" if slow else ""
        print(f"fabric: all-reduce over {machines} machines, {world} cards: {rate:.1f} GB/s{floor}", flush=True)
    return 1 if slow else 0

def process(card):
    pid = os.fork()
    if pid:
        return pid
    try:
        code = all_reduce(card)
    except (dist.DistStoreError, dist.DistNetworkError) as error:
        code = alone
        print(f"fabric: not all of the {machines} machines connected to {host} within {limit} s: {error}", flush=True)
    except Exception:
        code = 1
        traceback.print_exc()
        print("fabric: the cards of the machines were not joined", flush=True)
    os._exit(code)

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
while True:
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in [process(card) for card in range(cards)]]
    if not any(codes) or alone in codes:
        sys.exit(max(codes))
    time.sleep(10)
`.trim();
