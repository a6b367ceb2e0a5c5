import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { posternOnPostgres, posternOnSqlite } from './contestants/postern.ts';
import { Database } from './database.ts';
import { LoadClient } from './load/load-client.ts';
import { measure } from './measurement.ts';
import type { Options } from './options.ts';
import { say } from './progress.ts';
import { startServer } from './rounds.ts';
import { SCENARIOS } from './scenarios.ts';

const MAX_LINES = 30;
const MAX_LINE_LENGTH = 100;
const WARM_UP_SECONDS = 2;
const MAX_PER_SECOND = 20_000;

/** Runs one scenario against Postern under Node's sampling profiler and prints where the samples fell. */
export async function profile(options: Options, folder: string, cleanup: Cleanup): Promise<void> {
  const { seconds, connections, engine } = options;
  const scenario = SCENARIOS.find(({ id }) => id === options.scenario);
  if (!scenario) throw new Error(`--profile: one of ${SCENARIOS.map(({ id }) => id).join(', ')}`);
  const profiles = join(folder, 'profiles');
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=250'];
  const database = engine === 'postgres' ? await Database.start(folder, cleanup) : undefined;
  const server = database
    ? await posternOnPostgres(folder, database, cleanup, flags)
    : await posternOnSqlite(folder, cleanup, flags);
  const running = await startServer(server);
  const bench = { load: await LoadClient.start(cleanup), database, connections };
  for (const length of [WARM_UP_SECONDS, seconds]) {
    say(`${scenario.label} on ${server.label} for ${length} s…`);
    const requests = await scenario.prepare(server, { connections, maxRequests: length * MAX_PER_SECOND });
    const run = { scenario: scenario.id, round: 1, seconds: length, requests };
    const { perSecond, serverCpuUs } = await measure(bench, running, run);
    say(`${Math.round(perSecond)}/s, ${Math.round(serverCpuUs)} µs of CPU per request`);
  }
  // Node writes the profile when the process exits.
  await Promise.all(running.children.map((child) => child.stop()));
  for (const file of globSync(join(profiles, '*.cpuprofile'))) print(file, seconds);
}

type CpuProfile = {
  nodes: {
    id: number;
    children?: number[];
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  samples: number[];
  timeDeltas: number[];
};

/** Uses only the last part of the profile: the rest is startup and warm-up. */
function print(file: string, seconds: number): void {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const byFunction = new Map<string, number>();
  const byFile = new Map<string, number>();
  let total = 0;
  for (let i = samples.length - 1, left = seconds * 1e6; i >= 0 && left > 0; i--) {
    const frame = frames.get(samples[i]!)!;
    const time = timeDeltas[i]!;
    left -= time;
    if (frame.functionName === '(idle)') continue;
    total += time;
    add(byFunction, functionOf(frame), time);
    add(byFile, fileOfSample(samples[i]!, frames, callers), time);
  }
  process.stdout.write(`\n${(total / 1e6).toFixed(1)} of ${seconds} s not idle. Self time by function:\n`);
  process.stdout.write(
    `${lines(byFunction, total)}\n\nBy file, native code counted with its caller:\n${lines(byFile, total)}\n`,
  );
}

const add = (to: Map<string, number>, name: string, time: number): void =>
  void to.set(name, (to.get(name) ?? 0) + time);

function lines(times: ReadonlyMap<string, number>, total: number): string {
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_LINES)
    .map(
      ([name, time]) =>
        `${((100 * time) / total).toFixed(1).padStart(5)} %  ${name.slice(0, MAX_LINE_LENGTH)}`,
    )
    .join('\n');
}

const ROOT = new URL('..', import.meta.url).href;

type Frame = CpuProfile['nodes'][number]['callFrame'];

const functionOf = ({ functionName, url, lineNumber }: Frame): string =>
  `${functionName || '(anonymous)'}${url === '' ? '' : `  ${pathOf(url)}:${lineNumber + 1}`}`;

/** The nearest file on the stack: a native function alone does not say why it ran. A package counts as one file. */
function fileOfSample(
  sample: number,
  frames: ReadonlyMap<number, Frame>,
  callers: ReadonlyMap<number, number>,
): string {
  for (let id: number | undefined = sample; id !== undefined; id = callers.get(id)) {
    const { url } = frames.get(id)!;
    if (url !== '') return /node_modules\/[^/]+/.exec(url)?.[0] ?? pathOf(url);
  }
  return frames.get(sample)!.functionName;
}

const pathOf = (url: string): string => url.replace(ROOT, '').replace('file://', '');
