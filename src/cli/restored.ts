import type { Command } from 'commander';
import type { RevokedRange, SweepPosition } from '../store/grants.ts';
import type { Store } from '../store/store.ts';
import { withStore } from './database.ts';
import { addAction, CommandFailed, type Result, readableTime } from './output.ts';
import { ProgressBar } from './progress.ts';

const BATCH_SIZE = 1_000;

export function addRestoredCommand(program: Command): void {
  const command = program
    .command('restored')
    .description(
      'after restoring a backup, before serving: revoke every grant, end every session and mailed link',
    )
    .option('--yes', 'do it')
    .addHelpText(
      'after',
      "\nA backup doesn't know what happened after it was made: refresh tokens, sessions and links that were used," +
        '\nrevoked or ended since then would work again. So all of them end, and users reconnect their applications.' +
        '\nNot needed if nothing was lost (point-in-time recovery to the very end): docs/operations.md.',
    );
  addAction(command, restored);
}

function restored({ yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store }) => {
    const lastUse = await store.grants.lastUse();
    const age =
      lastUse === 0
        ? 'This database contains no grants.'
        : `This database was last used ${readableTime(lastUse)}.`;
    if (!yes) {
      throw new CommandFailed(
        `Nothing was changed. ${age} Everything that happened later is lost, so all of its grants, browser ` +
          'sessions and mailed links must end; users then reconnect their applications. To go ahead, add --yes.',
      );
    }
    const grants = await revokeGrants(store);
    const sessions = await removeAll(store.sessions);
    const mailLinks = (await removeAll(store.mailLinks)) + (await removeAll(store.signUps));
    // The backup is old: that the service did not run since then says nothing about the clock.
    await store.clock.record(Date.now());
    return {
      text:
        `Revoked ${grants} grants; ended ${sessions} browser sessions and ${mailLinks} mailed links. ${age}\n` +
        'You can start the service now.',
      json: { grants, sessions, mail_links: mailLinks },
    };
  });
}

async function revokeGrants(store: Store): Promise<number> {
  const bar = new ProgressBar();
  let from: SweepPosition | undefined = { userId: '', grantId: '' };
  let revoked = 0;
  while (from) {
    const range: RevokedRange = await store.grants.revokeAll(
      from,
      BATCH_SIZE,
      'database_restored',
      Date.now(),
    );
    revoked += range.revoked;
    from = range.next;
    bar.show('grants revoked', revoked, revoked + (from ? 1 : 0));
  }
  bar.clear();
  return revoked;
}

/** Removes all rows of a table, expired or not. */
async function removeAll(table: { sweep(limit: number, now: number): Promise<number> }): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await table.sweep(BATCH_SIZE, Number.MAX_SAFE_INTEGER);
    if (batch === 0) return removed;
    removed += batch;
  }
}
