/**
 * A device on a machine's PCI bus, as in Talos' resource (talos, pkg/machinery/resources/hardware/pci_device.go); IDs
 * with `0x`.
 */
export interface PciDevice {
  class_id?: string;
  vendor_id?: string;
  product_id?: string;
  /** Name from the Talos release's list of PCI IDs; undefined for a device that is newer than the release. */
  product?: string;
}

/** Whether a device is a card of NVIDIA's: a display controller (class 03) of vendor 10de. */
export const isNvidiaCard = ({ vendor_id, class_id }: PciDevice): boolean =>
  hex(vendor_id) === "10de" && hex(class_id) === "03";

/** An ID without its `0x`, as in lists of PCI IDs. */
export const hex = (id: string | undefined): string | undefined =>
  id?.toLowerCase().replace(/^0x/, "");
