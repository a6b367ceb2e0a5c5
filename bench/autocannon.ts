import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Contestant } from './contestants/contestant.ts';
import type { Bench } from './measurement.ts';
import { say } from './progress.ts';
import { get } from './scenarios.ts';

const COMMAND = new URL('node_modules/autocannon/autocannon.js', import.meta.url).pathname;

/** The same GET against the floor, sent by our load client and by autocannon. */
export type ClientComparison = {
  readonly ours: { readonly perSecond: number; readonly clientCpu: number };
  readonly autocannon: { readonly perSecond: number };
};

/** If autocannon gets more requests per second out of the floor than our client, our client is the bottleneck. */
export async function autocannon(
  bench: Bench,
  floor: Contestant,
  seconds: number,
): Promise<ClientComparison> {
  say('Comparing the load client with autocannon…');
  const { connections, load } = bench;
  const { ports, paths } = floor;
  const wholeSeconds = Math.ceil(seconds);
  const ours = await load.run({
    ports,
    connections,
    seconds: wholeSeconds,
    requests: { kind: 'repeat', messages: [get(paths.userinfo, 'x'.repeat(97))] },
  });
  const args = ['--json', '-c', String(connections), '-d', String(wholeSeconds)];
  const header = ['-H', `authorization=Bearer ${'x'.repeat(97)}`];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [COMMAND, ...args, ...header, `http://127.0.0.1:${ports[0]}${paths.userinfo}`],
    { timeout: (wholeSeconds + 30) * 1000 },
  );
  const theirs = JSON.parse(stdout) as { requests: { total: number }; duration: number };
  return {
    ours: { perSecond: ours.requests / ours.seconds, clientCpu: ours.clientCpu },
    autocannon: { perSecond: theirs.requests.total / theirs.duration },
  };
}
