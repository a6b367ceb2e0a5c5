import { duration } from '../pages/parts.ts';
import type { LogDetails, LogEntry } from '../store/request-log.ts';

/** What a reason is told with: the entry, and the success that used the same code or token before it. */
export type Told = {
  readonly entry: LogEntry;
  readonly details: LogDetails;
  readonly earlier: LogEntry | undefined;
};

export const AGAIN = 'Send the user through authorization again.';
export const day = (at: string | number | undefined): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(
    Number(at),
  );
export const ending = (tail: string | number | undefined): string =>
  tail === undefined ? 'The client_secret sent' : `The client_secret sent, which ends in …${tail},`;
export const PARALLEL =
  'Make refresh single-flight: one refresh at a time for each user, everybody else waits for its result, and the new token is stored before it is used. docs/integrating.md has the code, “Refreshing without races”.';

/** Who exchanged or refreshed with this very credential before. */
function before({ entry, earlier }: Told, done: string): string {
  return earlier
    ? `was ${done} ${duration(entry.at - earlier.at)} earlier from ${earlier.address}`
    : `was ${done} before`;
}

export function endedBy(by: string | number | undefined): string {
  const words: Record<string, string> = {
    refresh_token_reuse: 'because an old refresh token of it was used again',
    code_replay: 'because its code was used twice',
    revoked_by_client: 'by your own call to /oauth/revoke',
    disconnected_by_user: 'by the user, who disconnected your application',
    account_deleted: 'because the user deleted their account',
    database_restored: 'because the service was restored from a backup',
  };
  return words[String(by)] ?? 'for another reason';
}

export function replayed(told: Told): string {
  if (told.details.foreign) return 'The code was issued to another application and was used already.';
  const { exchanged_at: at } = told.details;
  if (told.earlier || at === undefined) return `This code ${before(told, 'exchanged')}.`;
  return `This code was exchanged ${duration(told.entry.at - Number(at))} earlier.`;
}

export function reused(told: Told): string {
  if (told.details.foreign)
    return 'The refresh token was issued to another application and was used already.';
  const { rotations } = told.details;
  const age = Number(rotations) === 1 ? 'one rotation' : `${count(Number(rotations))} rotations`;
  return `The refresh token is ${age} old: it ${before(told, 'used')}.`;
}

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const count = (number: number): string => NUMBERS[number] ?? String(number);

export const looks = ({ details }: Told, wanted: string): string =>
  details.looks_like === undefined
    ? `What was sent (${details.length} characters) was never ${wanted} of this service.`
    : details.looks_like === wanted
      ? `What was sent looks like ${wanted} but is damaged: ${details.length} characters came, and they do not fit together.`
      : `What was sent is ${details.looks_like}, not ${wanted}.`;
