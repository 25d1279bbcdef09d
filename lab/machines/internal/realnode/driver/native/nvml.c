/*
 * Stands in for libnvidia-ml.so.1 on a node without a card: the calls with which NVIDIA's device plugin, DRA driver and toolkit find cards, whole and well. Names,
 * numbers and structures are those of nvml.h (github.com/NVIDIA/go-nvml, gen/nvml/nvml.h). What is not here is refused by the caller's linker.
 * CARDS, DRIVER_VERSION and CUDA_VERSION are given to the compiler. Without CARDS the machine is a virtual one, whose board's asset tag has them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, TIMEOUT = 10 };
struct card { char uuid[96]; char name[96]; unsigned long long memory; int major, minor, mig; unsigned brand; };
#ifdef CARDS
static struct card cards[] = {CARDS};
static const unsigned most = sizeof cards / sizeof *cards;
#else
static struct card cards[16];
static unsigned most;
/* As lab/cluster/lab-gpu.ts writes it: `2|NVIDIA GeForce RTX 3090|24576|8.6`. */
static void __attribute__((constructor)) read_tag(void) {
  struct card card = {.brand = 14};
  unsigned number = 0;
  FILE *tag = fopen("/sys/class/dmi/id/board_asset_tag", "r");
  if (!tag) return;
  if (fscanf(tag, "%u|%95[^|]|%llu|%d.%d", &number, card.name, &card.memory, &card.major, &card.minor) == 5) {
    card.memory <<= 20;
    if (strstr(card.name, "GeForce")) card.brand = 5;
    for (; most < number && most < 16; most++) {
      cards[most] = card;
      snprintf(cards[most].uuid, sizeof card.uuid, "GPU-7a105000-0000-4000-8000-%012x", most);
    }
  }
  fclose(tag);
}
#endif

/* A process is told of the cards whose devices it has, in their order; each keeps its number. */
static struct card *card_at(unsigned wanted) {
  char path[32];
  for (unsigned i = 0; i < most; i++) {
    snprintf(path, sizeof path, "/dev/nvidia%u", i);
    if (!access(path, F_OK) && wanted-- == 0) return &cards[i];
  }
  return 0;
}
static unsigned cards_seen(void) {
  unsigned seen = 0;
  while (card_at(seen)) seen++;
  return seen;
}

/* The driver's own library needs its control device. */
int nvmlInit_v2(void) { return access("/dev/nvidiactl", F_OK) ? DRIVER_NOT_LOADED : SUCCESS; }
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == SUCCESS ? "Success" : code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "The stand-in has no such thing"; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { snprintf(text, length, "%s", DRIVER_VERSION); return SUCCESS; }
int nvmlSystemGetNVMLVersion(char *text, unsigned length) { snprintf(text, length, "13.%s", DRIVER_VERSION); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = CUDA_VERSION; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = CUDA_VERSION; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *number) { *number = cards_seen(); return SUCCESS; }
int nvmlDeviceGetCount(unsigned *number) { *number = cards_seen(); return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct card **device) { return (*device = card_at(index)) ? SUCCESS : INVALID_ARGUMENT; }
int nvmlDeviceGetHandleByIndex(unsigned index, struct card **device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }
int nvmlDeviceGetHandleByUUID(const char *uuid, struct card **device) {
  for (unsigned i = 0; (*device = card_at(i)); i++)
    if (!strcmp((*device)->uuid, uuid)) return SUCCESS;
  return NOT_FOUND;
}
int nvmlDeviceGetIndex(struct card *device, unsigned *index) {
  for (*index = 0; card_at(*index); ++*index)
    if (card_at(*index) == device) return SUCCESS;
  return NOT_FOUND;
}
int nvmlDeviceGetMinorNumber(struct card *device, unsigned *minor) { *minor = (unsigned)(device - cards); return SUCCESS; }
int nvmlDeviceGetUUID(struct card *device, char *text, unsigned length) { snprintf(text, length, "%s", device->uuid); return SUCCESS; }
int nvmlDeviceGetName(struct card *device, char *text, unsigned length) { snprintf(text, length, "%s", device->name); return SUCCESS; }
int nvmlDeviceGetMemoryInfo(struct card *device, unsigned long long *info) { info[0] = info[1] = device->memory; info[2] = 0; return SUCCESS; }
int nvmlDeviceGetMemoryInfo_v2(struct card *device, unsigned long long *info) { info[1] = info[3] = device->memory; info[2] = info[4] = 0; return SUCCESS; }
/* char busIdLegacy[16]; unsigned domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; */
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(struct card *device, struct pci *info) {
  memset(info, 0, sizeof *info);
  info->bus = 0x40 + (unsigned)(device - cards);
  info->id = 0x233010de;
  snprintf(info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
  return SUCCESS;
}
int nvmlDeviceGetPciInfo(struct card *device, struct pci *info) { return nvmlDeviceGetPciInfo_v3(device, info); }
int nvmlDeviceGetPciInfo_v2(struct card *device, struct pci *info) { return nvmlDeviceGetPciInfo_v3(device, info); }
int nvmlDeviceGetCudaComputeCapability(struct card *device, int *major, int *minor) { *major = device->major; *minor = device->minor; return SUCCESS; }
int nvmlDeviceGetArchitecture(struct card *device, unsigned *architecture) {
  unsigned of[] = {3, 4, 5, 7, 9, 10}; /* Maxwell, Pascal, Volta, Ampere, Hopper, Blackwell: compute capability 5 to 10 */
  int major = device->major < 5 ? 5 : device->major > 10 ? 10 : device->major;
  *architecture = of[major - 5] + ((major == 7 && device->minor >= 5) || (major == 8 && device->minor >= 9)); /* Turing, Ada */
  return SUCCESS;
}
int nvmlDeviceGetBrand(struct card *device, unsigned *brand) { *brand = device->brand; return SUCCESS; }
int nvmlDeviceGetMigMode(struct card *device, unsigned *current, unsigned *pending) { *current = *pending = 0; return device->mig ? SUCCESS : NOT_SUPPORTED; }
int nvmlDeviceIsMigDeviceHandle(struct card *device, unsigned *is) { (void)device; *is = 0; return SUCCESS; }
int nvmlDeviceGetMaxMigDeviceCount(struct card *device, unsigned *number) { (void)device; *number = 0; return SUCCESS; }
int nvmlDeviceGetGpuInstanceProfileInfo(struct card *device, unsigned profile, void *info) { (void)device; (void)profile; (void)info; return NOT_SUPPORTED; }
int nvmlDeviceGetMigDeviceHandleByIndex(struct card *device, unsigned index, struct card **mig) { (void)device; (void)index; (void)mig; return NOT_FOUND; }
/* Of two cards the plugin prefers a near one: here each is on the same NUMA node, behind a host bridge of its own, without NVLink. */
int nvmlDeviceGetTopologyCommonAncestor(struct card *one, struct card *other, unsigned *level) { (void)one; (void)other; *level = 40; return SUCCESS; }
int nvmlDeviceGetNvLinkState(struct card *device, unsigned link, unsigned *active) { (void)device; (void)link; (void)active; return NOT_SUPPORTED; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct card *device, unsigned link, struct pci *info) { (void)device; (void)link; (void)info; return NOT_SUPPORTED; }
int nvmlDeviceGetNumaNodeId(struct card *device, unsigned *node) { (void)device; (void)node; return NOT_SUPPORTED; }
int nvmlDeviceGetGpuFabricInfo(struct card *device, void *info) { (void)device; (void)info; return NOT_SUPPORTED; }
int nvmlDeviceGetGpuFabricInfoV(struct card *device, void *info) { (void)device; (void)info; return NOT_SUPPORTED; }
int nvmlDeviceGetAddressingMode(struct card *device, void *mode) { (void)device; (void)mode; return NOT_SUPPORTED; }
int nvmlDeviceGetSupportedEventTypes(struct card *device, unsigned long long *types) { (void)device; *types = 8 | 2 | 4; return SUCCESS; }
int nvmlDeviceRegisterEvents(struct card *device, unsigned long long types, void *set) { (void)device; (void)types; (void)set; return SUCCESS; }
int nvmlEventSetCreate(void **set) { *set = cards; return SUCCESS; }
int nvmlEventSetFree(void *set) { (void)set; return SUCCESS; }
int nvmlEventSetWait_v2(void *set, void *data, unsigned milliseconds) { (void)set; (void)data; usleep(1000u * milliseconds); return TIMEOUT; }
int nvmlEventSetWait(void *set, void *data, unsigned milliseconds) { return nvmlEventSetWait_v2(set, data, milliseconds); }
