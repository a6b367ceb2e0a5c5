import { isIPv6 } from 'node:net';

/** Of an address in text; whatever else a proxy forwards is not kept whole. */
const MAX_ADDRESS_LENGTH = 45;

/** The unit that limits count by: an IPv4 address, or an IPv6 /64, because one subscriber commonly has a whole one. */
export function network(address: string): string {
  const groups = ipv6Groups(address);
  if (!groups) return address.slice(0, MAX_ADDRESS_LENGTH);
  return ipv4Of(groups) ?? `${groups.slice(0, 4).join(':')}::/64`;
}

/**
 * The IPv6 /48 of an address: the largest network that one customer commonly has (RFC 6177), with 65,536 networks
 * of the size above. Undefined for IPv4.
 */
export function site(address: string): string | undefined {
  const groups = ipv6Groups(address);
  return groups && ipv4Of(groups) === undefined ? `${groups.slice(0, 3).join(':')}::/48` : undefined;
}

/** Eight hexadecimal numbers without leading zeros; undefined for anything but an IPv6 address. */
function ipv6Groups(address: string): string[] | undefined {
  if (!address.includes(':') || !isIPv6(address)) return undefined;
  // The URL parser writes every address in its canonical form (RFC 5952).
  const canonical = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = head.split(':').filter(Boolean);
  if (tail === undefined) return groups;
  const rest = tail.split(':').filter(Boolean);
  return [...groups, ...Array<string>(8 - groups.length - rest.length).fill('0'), ...rest];
}

/** The IPv4 address that is mapped into these groups (RFC 4291 2.5.5.2). */
function ipv4Of(groups: readonly string[]): string | undefined {
  if (groups[5] !== 'ffff' || groups.slice(0, 5).some((group) => group !== '0')) return undefined;
  return groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((number) => [number >> 8, number & 255])
    .join('.');
}
