import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { Config } from '../config.ts';

/** Proxies in a row: more are not looked at. */
const MAX_HOPS = 20;
/** The longest IPv6 address in brackets, with a port. */
const MAX_LENGTH = 60;

/** The addresses of clients, as far as the proxies between are trusted. */
export class ClientAddresses {
  readonly #trusts: (address: string, hop: number) => boolean;

  constructor(trusted: Config['trustProxy']) {
    if (trusted === false) this.#trusts = () => false;
    else if (trusted === 1) this.#trusts = (_address, hop) => hop === 0;
    else this.#trusts = proxyAddress.compile(trusted.split(',').map((address) => address.trim()));
  }

  /** Whether the peer is a trusted proxy, whose headers can be believed. */
  trustsPeer({ socket: { remoteAddress } }: IncomingMessage): boolean {
    return remoteAddress !== undefined && this.#trusts(remoteAddress, 0);
  }

  /**
   * The address that the outermost trusted proxy saw. Anything else in X-Forwarded-For was chosen by the client: a
   * port, or what is no address at all, must not make it another client.
   */
  of({ socket: { remoteAddress }, headers }: IncomingMessage): string {
    if (remoteAddress === undefined) return '';
    const forwarded = String(headers['x-forwarded-for'] ?? '');
    let address = remoteAddress;
    let end = forwarded.length;
    for (let hop = 0; end > 0 && hop < MAX_HOPS && this.#trusts(address, hop); hop++) {
      const comma = forwarded.lastIndexOf(',', end - 1);
      const next = parseAddress(forwarded.slice(comma + 1, end).trim());
      if (next === undefined) break;
      address = next;
      end = comma;
    }
    return address;
  }
}

/** An IP address without its port and zone; undefined for anything else. */
function parseAddress(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1];
  const withPort = /^([^:]*):\d{1,5}$/.exec(text)?.[1];
  const address = bracketed ?? (withPort !== undefined && isIPv4(withPort) ? withPort : text);
  const [withoutZone = ''] = address.split('%', 1);
  return isIP(withoutZone) === 0 ? undefined : withoutZone;
}
