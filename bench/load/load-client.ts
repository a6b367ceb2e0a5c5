import { once } from 'node:events';
import type { Cleanup } from '../cleanup.ts';
import { Child } from '../processes.ts';
import type { Load, LoadResult } from './load.ts';

const CLIENT = new URL('./client.ts', import.meta.url).pathname;
/** Time a run may take beyond its own length, to wait for the last responses. */
const TIMEOUT_MS = 30_000;

/** Starts the load client's process and sends it runs. */
export class LoadClient {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(cleanup: Cleanup): Promise<LoadClient> {
    const child = new Child('the load client', [process.execPath, CLIENT], {}, cleanup);
    await once(child.process, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return new LoadClient(child);
  }

  async run(load: Load): Promise<LoadResult> {
    const signal = AbortSignal.timeout(Math.ceil(load.seconds * 1000) + TIMEOUT_MS);
    const reply = once(this.#child.process, 'message', { signal });
    this.#child.process.send(load);
    const [{ result, error }] = (await reply) as [{ result?: LoadResult; error?: string }];
    if (!result) throw new Error(`the load client: ${error}`);
    return result;
  }
}
