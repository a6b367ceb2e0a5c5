import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cleanup } from './cleanup.ts';
import { compare } from './comparison.ts';
import type { Options } from './options.ts';
import { profile } from './profile.ts';

export async function run(options: Options): Promise<void> {
  const cleanup = new Cleanup();
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  // PostgreSQL's own account has to reach its folder in here.
  chmodSync(folder, 0o755);
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  try {
    if (options.mode === 'profile') return await profile(options, folder, cleanup);
    const c = await compare(options, folder, cleanup);
    console.log(JSON.stringify(c, null, 1));
  } finally {
    await cleanup.run();
  }
}
