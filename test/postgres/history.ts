/**
 * The requests and responses of a run in which things break, and a check whether they are possible. The checker knows
 * nothing of how the service works, only what a client may rely on.
 */
export type Event = {
  readonly kind: 'exchange' | 'refresh' | 'revoke' | 'userinfo';
  /** The grant: everything that came from one authorization code. */
  readonly grant: string;
  /** The code or token that was presented. */
  readonly credential: string;
  /** When it was sent, and when the response arrived. */
  readonly from: number;
  readonly to: number;
  /**
   * `unknown`: a server error or no response, which may have taken effect or not. `unchanged`: the response says that
   * nothing was changed.
   */
  readonly outcome: 'success' | 'refused' | 'reused' | 'unknown' | 'unchanged';
  readonly issued?: { readonly accessToken: string; readonly refreshToken: string };
};

/** Describes everything impossible in a history; empty when it is possible. */
export function violations(history: readonly Event[]): string[] {
  // A request that changed nothing explains nothing: what follows must be as if it had not been sent.
  const effective = history.filter(({ outcome }) => outcome !== 'unchanged');
  const inOrder = effective.toSorted((a, b) => a.from - b.from);
  const byGrant = Map.groupBy(inOrder, ({ grant }) => grant);
  return [...byGrant.values()].flatMap((events) => [
    ...usedTwice(events),
    ...liveAfterRevocation(events),
    ...refusedWithoutReason(events),
  ]);
}

const isUse = ({ kind }: Event): boolean => kind === 'exchange' || kind === 'refresh';

function usedTwice(events: readonly Event[]): string[] {
  const uses = events.filter((event) => isUse(event) && event.outcome === 'success');
  return [...Map.groupBy(uses, ({ credential }) => credential).values()]
    .filter((successes) => successes.length > 1)
    .map(
      ([first, ...more]) =>
        `${more.length + 1} successes of one ${first!.kind}: ${describe(first!, ...more)}`,
    );
}

/** Responses after which a grant is known to be revoked: reuse was reported, or a revocation confirmed. */
function isRevoked(
  { kind, outcome }: Event,
  refreshTokens: ReadonlySet<string>,
  credential: string,
): boolean {
  if (outcome === 'reused') return true;
  return kind === 'revoke' && outcome === 'success' && refreshTokens.has(credential);
}

function liveAfterRevocation(events: readonly Event[]): string[] {
  const { refreshTokens } = acknowledged(events);
  const revocations = events.filter((event) => isRevoked(event, refreshTokens, event.credential));
  if (revocations.length === 0) return [];
  const first = revocations.reduce((a, b) => (a.to <= b.to ? a : b));
  return events
    .filter(({ kind, outcome, from }) => kind !== 'revoke' && outcome === 'success' && from > first.to)
    .map((event) => `a success after the grant was revoked: ${describe(first, event)}`);
}

/** An acknowledged token that was refused although no request could have ended it. */
function refusedWithoutReason(events: readonly Event[]): string[] {
  const { refreshTokens, accessTokens } = acknowledged(events);
  const ending = events.filter((event, index) => mayEnd(event, events.slice(0, index), refreshTokens));
  return events
    .filter(({ outcome }) => outcome === 'refused' || outcome === 'reused')
    .filter(({ credential }) => refreshTokens.has(credential) || accessTokens.has(credential))
    .filter((event) => !ending.some((other) => other !== event && other.from < event.to))
    .filter((event) => !events.some((other) => other !== event && usedOrRevoked(other, event)))
    .map((event) => `an acknowledged token was refused: ${describe(event)}`);
}

/** Requests that could end the grant or the token: a revocation, or a use of a token presented before. */
function mayEnd(event: Event, before: readonly Event[], refreshTokens: ReadonlySet<string>): boolean {
  if (event.kind === 'revoke') return refreshTokens.has(event.credential);
  return isUse(event) && before.some(({ credential }) => credential === event.credential);
}

/** Whether `other` used or revoked the very token with which `event` was refused. */
function usedOrRevoked(other: Event, event: Event): boolean {
  if (other.credential !== event.credential || other.from >= event.to) return false;
  return other.kind === 'revoke' || (isUse(other) && other.outcome !== 'refused');
}

function acknowledged(events: readonly Event[]): { refreshTokens: Set<string>; accessTokens: Set<string> } {
  const issued = events.flatMap((event) => (event.issued ? [event.issued] : []));
  return {
    refreshTokens: new Set(issued.map(({ refreshToken }) => refreshToken)),
    accessTokens: new Set(issued.map(({ accessToken }) => accessToken)),
  };
}

function describe(...events: readonly Event[]): string {
  return events
    .map(
      ({ kind, grant, credential, outcome, from, to }) =>
        `${kind} of …${credential.slice(-8)} in ${grant} (${Math.round(from)} to ${Math.round(to)}): ${outcome}`,
    )
    .join('; ');
}
