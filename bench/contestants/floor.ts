import type { Cleanup } from '../cleanup.ts';
import { Child, freePort } from '../processes.ts';
import { CLIENT, type Contestant } from './contestant.ts';

const SERVER = new URL('../servers/floor.ts', import.meta.url).pathname;

/** The floor accepts any text as a credential; only the length matters. */
const credentials = (count: number, prefix: string, length: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`.padEnd(length, 'x'));

export async function floor(cleanup: Cleanup): Promise<Contestant> {
  const port = await freePort();
  return {
    id: 'floor',
    label: 'bare node:http (the floor)',
    ports: [port],
    client: CLIENT,
    paths: {
      token: '/oauth/token',
      userinfo: '/oauth/userinfo',
      revoke: '/oauth/revoke',
      introspect: '/introspect',
    },
    usesPostgres: false,
    start: () => [new Child('the floor', [process.execPath, SERVER], { BENCH_PORT: String(port) }, cleanup)],
    codes: async (count) =>
      credentials(count, 'postern_code_', 87).map((code) => ({ code, verifier: 'v'.repeat(43) })),
    refreshTokens: async (count) => credentials(count, 'postern_rt_', 85),
    accessTokens: async (count) => credentials(count, 'postern_at_', 97),
    footprint: async () => undefined,
    close: async () => {},
  };
}
