import * as semver from "semver";
import { documentsFrom } from "../facts/data/since";
import type { Fault } from "../rules";

/**
 * Why a machine refuses the configuration that is generated for it; undefined where it takes it. The machine gets it before its
 * upgrade, so its running release decodes it. Only the contract of 1.12 brings what the release before does not know: the
 * document HostnameConfig, and `machine.install.grubUseUKICmdline` (`talosctl gen config` v1.13.0, contracts v1.8 to v1.14
 * compared).
 *
 * @param running release that the machine runs, with the v.
 * @param contract release whose features the configuration uses, e.g. `v1.12` or `v1.12.6`.
 */
export function contractFault(running: string, contract: string): Fault | undefined {
  const generated = semver.coerce(contract);
  if (generated === null || semver.valid(running) === null) return undefined;
  if (semver.lt(generated, documentsFrom) || semver.gte(running, documentsFrom)) return undefined;
  return {
    problem: `the machine runs ${running}, and its configuration is generated for ${contract}`,
    why: `the machine gets it before its upgrade, and Talos before ${documentsFrom} refuses it: it does not know the document HostnameConfig`,
    remedy: `set it to ${running} until the upgrade is done`,
  };
}
