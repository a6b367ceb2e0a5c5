import { once } from 'node:events';
import type { Cleanup } from '../cleanup.ts';
import { Child } from '../processes.ts';
import type { Load, LoadResult } from './load.ts';

const CLIENT = new URL('./client.ts', import.meta.url).pathname;
/** Beyond its own time a run may wait for the last answers; then something is broken. */
const PATIENCE_MS = 30_000;

/** The bench's side of the load client's process. */
export class LoadClient {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(cleanup: Cleanup): Promise<LoadClient> {
    const child = new Child('the load client', [process.execPath, CLIENT], {}, cleanup);
    await once(child.process, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
    return new LoadClient(child);
  }

  async run(load: Load): Promise<LoadResult> {
    const signal = AbortSignal.timeout(Math.ceil(load.seconds * 1000) + PATIENCE_MS);
    const reply = once(this.#child.process, 'message', { signal });
    this.#child.process.send(load);
    const [{ result, error }] = (await reply) as [{ result?: LoadResult; error?: string }];
    if (!result) throw new Error(`the load client: ${error}`);
    return result;
  }
}
