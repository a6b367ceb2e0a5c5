import { duration } from '../pages/parts.ts';
import type { CredentialKind, FailureDetails, RevokedReason } from '../protocol/failure-reason.ts';
import type { LogEntry } from '../store/request-log.ts';

/** Sentences that several explanations share. */

export const REAUTHORIZE = 'Send the user through authorization again.';

export const PARALLEL_REFRESH =
  'Make refresh single-flight: one refresh at a time for each user, everybody else waits for its result, and the new token is stored before it is used. docs/integrating.md has the code, “Refreshing without races”.';

export const dayAndTime = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);

export const sentSecret = ({ tail }: { readonly tail?: string | undefined }): string =>
  tail === undefined ? 'The client_secret sent' : `The client_secret sent, which ends in …${tail},`;

type Repeated = { readonly entry: LogEntry; readonly earlier: LogEntry | undefined };

/** When and from where this very credential was used before. */
function usedBefore({ entry, earlier }: Repeated, done: 'exchanged' | 'used'): string {
  return earlier
    ? `was ${done} ${duration(entry.at - earlier.at)} earlier from ${earlier.address}`
    : `was ${done} before`;
}

const REVOKED_BY: Readonly<Record<RevokedReason, string>> = {
  refresh_token_reuse: 'because an old refresh token of it was used again',
  code_replay: 'because its code was used twice',
  revoked_by_client: 'by your own call to /oauth/revoke',
  disconnected_by_user: 'by the user, who disconnected your application',
  account_deleted: 'because the user deleted their account',
  application_deleted: 'because the application was deleted',
  superseded: 'because the user has since connected your application 10,000 times more',
  database_restored: 'because the service was restored from a backup',
};

/** Entries may have been written by another version, with a reason that this one does not know. */
export const revokedBy = (reason: RevokedReason): string => REVOKED_BY[reason] ?? 'for another reason';

export function replayed(context: Repeated & { readonly details: FailureDetails['code_replayed'] }): string {
  const { details, entry, earlier } = context;
  if ('ofOtherClient' in details) return 'The code was issued to another application and was used already.';
  if (earlier || details.exchangedAt === undefined) return `This code ${usedBefore(context, 'exchanged')}.`;
  return `This code was exchanged ${duration(entry.at - details.exchangedAt)} earlier.`;
}

export function reused(
  context: Repeated & { readonly details: FailureDetails['refresh_token_reused'] },
): string {
  const { details } = context;
  if ('ofOtherClient' in details)
    return 'The refresh token was issued to another application and was used already.';
  const { rotations } = details;
  const age = rotations === 1 ? 'one rotation' : `${inWords(rotations)} rotations`;
  return `The refresh token is ${age} old: it ${usedBefore(context, 'used')}.`;
}

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const inWords = (number: number): string => NUMBERS[number] ?? String(number);

const KINDS: Readonly<Record<CredentialKind, string>> = {
  code: 'a code',
  refresh_token: 'a refresh token',
  access_token: 'an access token',
  client_secret: 'a client secret',
};

export function credentialMismatch(
  { looksLike, length }: FailureDetails['not_a_code'],
  expected: CredentialKind,
): string {
  const wanted = KINDS[expected];
  if (looksLike === undefined)
    return `What was sent (${length} characters) was never ${wanted} of this service.`;
  return looksLike === expected
    ? `What was sent looks like ${wanted} but is damaged: ${length} characters came, and they do not fit together.`
    : `What was sent is ${KINDS[looksLike]}, not ${wanted}.`;
}
