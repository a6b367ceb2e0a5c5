import { network, site } from '../protocol/address.ts';
import type { Limit } from '../protocol/rate-window.ts';

/** Hits of one key, out of those that the limit allows. */
export type Budget = { readonly limit: Limit; readonly key: string };

/** A limit per network, and a larger one per site: one customer may have many IPv6 networks. */
type NetworkLimit = { readonly perNetwork: Limit; readonly perSite: Limit };

const NETWORKS_PER_SITE = 5;

export const networkLimit = ({ name, windowMs, max }: Limit): NetworkLimit => ({
  perNetwork: { name: `${name} network`, windowMs, max },
  perSite: { name: `${name} site`, windowMs, max: NETWORKS_PER_SITE * max },
});

/** The site first: one that is over its limit opens no further windows. */
export function networkBudgets({ perNetwork, perSite }: NetworkLimit, address: string): Budget[] {
  const budget = { limit: perNetwork, key: network(address) };
  const key = site(address);
  return key === undefined ? [budget] : [{ limit: perSite, key }, budget];
}
