import type { Command } from 'commander';
import type { Store, SweepPosition } from '../store/store.ts';
import { withStore } from './database.ts';
import { addAction, CommandFailed, type Result, readableTime } from './output.ts';
import { ProgressBar } from './progress.ts';

const A_STEP = 1_000;

export function addRestoredCommand(program: Command): void {
  const command = program
    .command('restored')
    .description('after restoring a backup, before serving: end every grant and browser session in it')
    .option('--yes', 'do it')
    .addHelpText(
      'after',
      '\nA backup does not know what happened after it: tokens consumed, revoked or cut since then would' +
        '\nbe accepted again. So everything ends, and users connect their applications anew.' +
        '\nNot needed where nothing was lost (point-in-time recovery to the very end): docs/operations.md.',
    );
  addAction(command, restored);
}

function restored({ yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store }) => {
    const last = await store.grants.lastUse();
    const state = last === 0 ? 'It holds no grants.' : `Its last use was ${readableTime(last)}.`;
    if (!yes) {
      throw new CommandFailed(
        `Nothing was changed. ${state} Whatever happened after that is lost, so every grant and every ` +
          'browser session in it has to end, and users connect their applications again. To do that, add --yes.',
      );
    }
    const grants = await endGrants(store);
    const sessions = await endSessions(store);
    return {
      text: `Ended ${grants} grants and ${sessions} browser sessions. ${state} The service can start.`,
      json: { grants, sessions },
    };
  });
}

async function endGrants(store: Store): Promise<number> {
  const bar = new ProgressBar();
  let from: SweepPosition | undefined = { userId: '', grantId: '' };
  let ended = 0;
  while (from) {
    const step: Awaited<ReturnType<Store['grants']['revokeAll']>> = await store.grants.revokeAll(
      from,
      A_STEP,
      'database_restored',
      Date.now(),
    );
    ended += step.removed;
    from = step.next;
    bar.show('grants ended', ended, ended + (from ? 1 : 0));
  }
  bar.clear();
  return ended;
}

/** All of them, expired or not. */
async function endSessions(store: Store): Promise<number> {
  let ended = 0;
  for (;;) {
    const step = await store.sessions.sweep(A_STEP, Number.MAX_SAFE_INTEGER);
    if (step === 0) return ended;
    ended += step;
  }
}
