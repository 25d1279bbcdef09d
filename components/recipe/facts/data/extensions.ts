/**
 * Official extensions by the Talos minors that have them; the Image Factory's name is `siderolabs/` + name.
 * Source: siderolabs/extensions, Makefile (TARGETS and NONFREE_TARGETS) at v1.8.4, v1.9.6, v1.10.9, v1.11.6, v1.12.11,
 * v1.13.9 and v1.14.0-rc.1; qaic (1.14.3) and amd-npu (1.14.6) by the commits in siderolabs/extensions discussions 1303 and 1348.
 */

/** Names that the releases of a range of minors have. */
export interface ExtensionRow {
  from: number;
  /** Last minor that has them; undefined: the newest one that was read still does. */
  to?: number;
  names: string[];
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Official extensions, by the minors that have them. */
export const extensionRows: ExtensionRow[] = [
  {
    from: 8,
    to: 8,
    names: words(`
      amdgpu-firmware i915-ucode
    `),
  },
  {
    from: 8,
    names: words(`
      amd-ucode binfmt-misc bnx2-bnx2x btrfs chelsio-drivers chelsio-firmware crun drbd ecr-credential-provider
      fuse3 gasket-driver gvisor gvisor-debug hello-world-service intel-ice-firmware intel-ucode iscsi-tools
      kata-containers mdadm mei nonfree-kmod-nvidia-lts nonfree-kmod-nvidia-production nut-client
      nvidia-container-toolkit-lts nvidia-container-toolkit-production nvidia-fabricmanager-lts
      nvidia-fabricmanager-production nvidia-open-gpu-kernel-modules-lts nvidia-open-gpu-kernel-modules-production
      qemu-guest-agent qlogic-firmware realtek-firmware spin stargz-snapshotter tailscale thunderbolt uinput
      usb-modem-drivers util-linux-tools v4l-uvc-drivers vmtoolsd-guest-agent wasmedge xen-guest-agent zfs
    `),
  },
  {
    from: 9,
    names: words(`
      amdgpu cloudflared dvb-cx23885 glibc i915 lldpd metal-agent
    `),
  },
  {
    from: 10,
    names: words(`
      amazon-ena ctr nebula nfsd nvme-cli panfrost revpi-firmware vc4 xdma-driver youki zerotier
    `),
  },
  {
    from: 11,
    names: words(`
      dvb-m88ds3103 hailort newt nfsrahead tenstorrent
    `),
  },
  {
    from: 12,
    names: words(`
      bird2 gpio-pinctrl mellanox-mstflint multipath-tools netbird nfs-utils nvidia-gdrdrv-device soci-snapshotter
      trident-iscsi-tools usb-audio-drivers xe
    `),
  },
  {
    from: 13,
    names: words(`
      intel-npu joydev px-fuse rockchip-rknn uhid
    `),
  },
  {
    from: 14,
    names: words(`
      amd-npu harbor-credential-provider hyperv-guest-agent kata-containers-snp qaic
    `),
  },
];

/** Talos minor at which they were last read. */
export const extensionsReadTo = 14;
