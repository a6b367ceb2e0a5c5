import { isIPv6 } from 'node:net';

/** One subscriber commonly has a whole IPv6 /64, so that is what counts as one address. */
export function network(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const groups = head.split(':').filter(Boolean);
  const rest = tail?.split(':').filter(Boolean) ?? [];
  const all =
    tail === undefined
      ? groups
      : [...groups, ...Array(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest];
  return `${all.slice(0, 4).join(':')}::/64`;
}
