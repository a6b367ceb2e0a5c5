import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cleanup } from './cleanup.ts';
import { growth } from './growth.ts';
import type { Options } from './options.ts';
import { profile } from './profile.ts';
import { say } from './progress.ts';
import { comparisonTables } from './report/comparison-tables.ts';
import { goalsTable } from './report/goals.ts';
import { writePage } from './report/page.ts';
import { growthTables, scaleTables } from './report/size-tables.ts';
import { type Table, toText } from './report/table.ts';
import { keep, keepQuick, type Results, thisMachine } from './results.ts';
import { scale } from './scale.ts';

/** One kind of run from beginning to end; whatever happens, nothing of it is left behind. */
export async function run(options: Options): Promise<void> {
  const cleanup = new Cleanup();
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  // PostgreSQL's own account has to reach its folder in here.
  chmodSync(folder, 0o755);
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  try {
    if (options.mode === 'profile') return await profile(options, folder, cleanup);
    const results = await measured(options, folder, cleanup);
    print([...tablesOf(results), goalsTable(record(options, results))]);
  } finally {
    await cleanup.run();
  }
}

async function measured(options: Options, folder: string, cleanup: Cleanup): Promise<Results> {
  const circumstances = { at: new Date().toISOString(), machine: thisMachine() };
  switch (options.mode) {
    case 'growth': {
      const grown = { ...circumstances, ...(await growth(options, folder, cleanup)) };
      return options.engine === 'postgres' ? { growthOnPostgres: grown } : { growth: grown };
    }
    case 'scale':
      return { scale: { ...circumstances, ...(await scale(options, folder, cleanup)) } };
    default: {
      // Only here: oidc-provider has its say on the terminal when it is loaded.
      const { compare } = await import('./comparison.ts');
      return { comparison: { ...circumstances, ...(await compare(options, folder, cleanup)) } };
    }
  }
}

function tablesOf(results: Results): Table[] {
  const { comparison, growth, growthOnPostgres, scale } = results;
  return [
    ...(comparison ? comparisonTables(comparison) : []),
    ...(growth ? growthTables(growth) : []),
    ...(growthOnPostgres ? growthTables(growthOnPostgres) : []),
    ...(scale ? scaleTables(scale) : []),
  ];
}

const print = (tables: readonly Table[]): void =>
  void process.stdout.write(`\n${tables.map(toText).join('\n')}\n`);

/**
 * Docs are written from whole runs only; a quick one or one of some servers is for the person at the
 * terminal. Returns what is known now, earlier runs of other kinds included where this one counts.
 */
function record(options: Options, results: Results): Results {
  if (options.quick || options.only.length > 0) {
    keepQuick(results);
    return results;
  }
  const all = keep(results);
  writePage(all);
  say('Written: bench/results/latest.json, docs/benchmarks.md, docs/benchmarks.svg');
  return all;
}
