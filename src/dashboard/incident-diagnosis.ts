import { duration } from '../pages/parts.ts';
import { network } from '../protocol/address.ts';
import type { Incident, Presentation } from '../store/incidents.ts';

type Diagnosis = {
  readonly summary: string;
  readonly fix: string;
};

/** Requests this close together count as parallel. */
const MAX_PARALLEL_GAP_MS = 5_000;

const SINGLE_FLIGHT =
  'Make refresh single-flight: let one refresh at a time run for each user and everybody else wait for its result, over all your processes (a lock in your database does it), and store the new tokens before anybody uses them.';

const LEAK =
  'Find out where your tokens are kept and who can read them: logs, backups, a browser’s storage, a shared machine. Change the client secret; a stolen token is worth nothing without it.';

/** Judges what most likely happened from the first use of the credential and the use that revoked the grant. */
export function diagnose(incident: Incident): Diagnosis {
  const { id, kind, generation, presentations } = incident;
  const second = presentations.find((presentation) => presentation.id === id);
  const first = firstUse(incident);
  if (second?.reason === 'by_another_application')
    return {
      summary: 'Another application presented a token of this session: most likely a leak.',
      fix: LEAK,
    };
  const lost = presentations.find(
    (presentation) => presentation.reason === 'outcome_unknown' && presentation.generation === generation,
  );
  if (!first && lost) return lostResponse(lost);
  if (!first || !second)
    return {
      summary: 'The first use is no longer in the log, so nothing can be said of what it was.',
      fix: `If it happens again: ${SINGLE_FLIGHT}`,
    };
  return compare(first, second, kind);
}

/** The use that succeeded; undefined when it is not in the log, or not yet: another node may still write it. */
export const firstUse = ({ generation, presentations }: Incident): Presentation | undefined =>
  presentations.find(
    (presentation) =>
      presentation.endpoint === 'token' &&
      presentation.error === '' &&
      presentation.generation === generation,
  );

/** After an unknown outcome an honest retry looks like a thief's, and revokes the grant (decision 012). */
const lostResponse = ({ at }: Presentation): Diagnosis => ({
  summary: `The response to the first attempt was lost (database timeout at ${secondsUtc(at)} UTC): most likely your application tried again, as it should.`,
  fix: 'Nothing is wrong with your application. The first attempt had taken effect, so the second one counted as a second use. Send the user through authorization again.',
});

/** Such as 2030-01-01 00:00:05. */
const secondsUtc = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');

function compare(first: Presentation, second: Presentation, kind: Incident['kind']): Diagnosis {
  const sameNetwork = network(first.address) === network(second.address);
  const sameClient = first.userAgent === second.userAgent;
  const gap = second.at - first.at;
  const apart = `${duration(gap)} apart`;
  const code = kind === 'code_replay';
  if (sameNetwork && gap <= MAX_PARALLEL_GAP_MS)
    return {
      summary: `Same address, ${apart}: most likely two parallel ${code ? 'exchanges of one code' : 'refreshes'}.`,
      fix: code
        ? 'See that the callback is handled once: a double click, a reload or a prefetch loads it twice. Take the state out of the session before the exchange, so that a second callback finds none.'
        : SINGLE_FLIGHT,
    };
  if (sameNetwork && sameClient)
    return {
      summary: `Same address and client, ${apart}: most likely an old ${code ? 'code' : 'token'} was sent again, because the answer with the new one was lost or not stored.`,
      fix: 'Store the new tokens in the same step that receives them, and before anything else can fail. Do not send the old one again after a time-out: send the user through authorization instead.',
    };
  if (sameNetwork || sameClient)
    return {
      summary: `${sameNetwork ? 'Same address but another client' : 'Same client but another address'}, ${apart}: two parts of your application that share one session, or a leak.`,
      fix: `If both are yours: ${SINGLE_FLIGHT} If you do not know the other one: ${LEAK}`,
    };
  return {
    summary: `Another network and another client, ${apart}: most likely a leak.`,
    fix: LEAK,
  };
}
