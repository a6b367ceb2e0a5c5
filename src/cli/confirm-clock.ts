import type { Command } from 'commander';
import { withStore } from './database.ts';
import { addAction, CommandFailed, type Result, readableTime } from './output.ts';

export function addConfirmClockCommand(program: Command): void {
  const command = program
    .command('confirm-clock')
    .description('with SQLite: say that the clock is right although the service was stopped for days')
    .addHelpText(
      'after',
      '\nA clock that is days ahead would expire every token and delete its grant. With SQLite there is no other clock' +
        '\nto compare with, so a service that was stopped for more than three days waits for this command.',
    );
  addAction(command, confirmClock);
}

function confirmClock(): Promise<Result> {
  return withStore(async ({ store }) => {
    if (store.clock.kind === 'database')
      throw new CommandFailed(
        "There is nothing to confirm: with PostgreSQL the clock is compared with the database's. Correct the one that is wrong.",
      );
    const now = Date.now();
    await store.clock.record(now);
    return {
      text: `It is ${readableTime(now)}. A running service uses this within a second.`,
      json: { now: new Date(now).toISOString() },
    };
  });
}
