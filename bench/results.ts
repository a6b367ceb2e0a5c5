import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Comparison } from './comparison.ts';
import type { Growth } from './growth.ts';
import type { Scale } from './scale.ts';

/** Raw data of the latest runs. Each kind of run replaces only its own part. */
export type Results = {
  readonly comparison?: Recorded<Comparison>;
  readonly growth?: Recorded<Growth>;
  readonly growthOnPostgres?: Recorded<Growth>;
  readonly scale?: Recorded<Scale>;
};

export type Recorded<T> = T & { readonly at: string; readonly machine: Machine };

export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  /** Load average of the minute before the run: other work on the machine. */
  readonly load: number;
};

export function thisMachine(): Machine {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    load: Math.round(loadavg()[0]! * 10) / 10,
  };
}

const LATEST = new URL('./results/latest.json', import.meta.url);
const QUICK = new URL('results/quick.json', import.meta.url);

export const readResults = (): Results =>
  existsSync(LATEST) ? (JSON.parse(readFileSync(LATEST, 'utf8')) as Results) : {};

export function saveResults(part: Results): Results {
  const results = { ...readResults(), ...part };
  write(LATEST, results);
  return results;
}

export const saveQuickResults = (part: Results): void => write(QUICK, part);

function write(file: URL, results: Results): void {
  mkdirSync(new URL('.', file), { recursive: true });
  // Six digits exceed the precision of any of these figures.
  const short = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value;
  writeFileSync(file, `${JSON.stringify(results, short, 1)}\n`);
}
