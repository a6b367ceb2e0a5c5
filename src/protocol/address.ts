import { isIPv6 } from 'node:net';

/** One subscriber commonly has a whole IPv6 /64, so that is what counts as one address. */
export function network(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address;
  // The URL parser knows the one spelling of an address (RFC 5952).
  const spelled = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (mapped) {
    const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const [head = '', tail] = spelled.split('::');
  const groups = head.split(':').filter(Boolean);
  const rest = tail?.split(':').filter(Boolean) ?? [];
  const all =
    tail === undefined
      ? groups
      : [...groups, ...Array(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest];
  return `${all.slice(0, 4).join(':')}::/64`;
}
