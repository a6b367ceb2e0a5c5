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
import { type Results, saveQuickResults, saveResults, thisMachine } from './results.ts';
import { scale } from './scale.ts';

/** Performs one kind of run; its processes and files are removed however it ends. */
export async function run(options: Options): Promise<void> {
  const cleanup = new Cleanup();
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  // PostgreSQL runs under its own account and must be able to reach its folder in here.
  chmodSync(folder, 0o755);
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  try {
    if (options.mode === 'profile') return await profile(options, folder, cleanup);
    const results = await measureAll(options, folder, cleanup);
    print([...tablesOf(results), goalsTable(record(options, results))]);
  } finally {
    await cleanup.run();
  }
}

async function measureAll(options: Options, folder: string, cleanup: Cleanup): Promise<Results> {
  const circumstances = { at: new Date().toISOString(), machine: thisMachine() };
  switch (options.mode) {
    case 'growth': {
      const grown = { ...circumstances, ...(await growth(options, folder, cleanup)) };
      return options.engine === 'postgres' ? { growthOnPostgres: grown } : { growth: grown };
    }
    case 'scale':
      return { scale: { ...circumstances, ...(await scale(options, folder, cleanup)) } };
    default: {
      // Imported only here: oidc-provider prints to the terminal when it is loaded.
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
 * Only a complete run is written to docs/; a quick run, or one with selected servers, is just printed.
 * Returns the results, merged with earlier runs of other kinds if the run is complete.
 */
function record(options: Options, results: Results): Results {
  if (options.quick || options.only.length > 0) {
    saveQuickResults(results);
    return results;
  }
  const all = saveResults(results);
  writePage(all);
  say('Written: bench/results/latest.json, docs/benchmarks.md, docs/benchmarks.svg');
  return all;
}
