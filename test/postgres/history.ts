/**
 * What was asked of the service and what it answered, in a run where things break: and whether that
 * can be true. The checker knows nothing of how the service works, only what a client may rely on.
 */
export type Event = {
  readonly kind: 'exchange' | 'refresh' | 'revoke' | 'userinfo';
  /** All that came of one authorization code. */
  readonly family: string;
  /** The code or token that was presented. */
  readonly credential: string;
  /** When it was sent, and when the answer was there. */
  readonly from: number;
  readonly to: number;
  /** `unknown`: a server error, or no answer at all. It may have taken effect or not. */
  readonly outcome: 'success' | 'refused' | 'reused' | 'unknown';
  readonly issued?: { readonly accessToken: string; readonly refreshToken: string };
};

/** Everything in a history that cannot be, in words; none when it can. */
export function violations(history: readonly Event[]): string[] {
  const inOrder = history.toSorted((a, b) => a.from - b.from);
  const families = Map.groupBy(inOrder, ({ family }) => family);
  return [...families.values()].flatMap((events) => [
    ...spentTwice(events),
    ...aliveAfterCut(events),
    ...refusedWithoutReason(events),
  ]);
}

const isSpend = ({ kind }: Event): boolean => kind === 'exchange' || kind === 'refresh';

function spentTwice(events: readonly Event[]): string[] {
  const spends = events.filter((event) => isSpend(event) && event.outcome === 'success');
  return [...Map.groupBy(spends, ({ credential }) => credential).values()]
    .filter((successes) => successes.length > 1)
    .map(
      ([first, ...more]) =>
        `${more.length + 1} successes of one ${first!.kind}: ${describe(first!, ...more)}`,
    );
}

/** The answers after which a family is known to be over: reuse was told, or a revocation confirmed. */
function isCut({ kind, outcome }: Event, refreshTokens: ReadonlySet<string>, credential: string): boolean {
  if (outcome === 'reused') return true;
  return kind === 'revoke' && outcome === 'success' && refreshTokens.has(credential);
}

function aliveAfterCut(events: readonly Event[]): string[] {
  const { refreshTokens } = acknowledged(events);
  const cuts = events.filter((event) => isCut(event, refreshTokens, event.credential));
  if (cuts.length === 0) return [];
  const cut = cuts.reduce((a, b) => (a.to <= b.to ? a : b));
  return events
    .filter(({ kind, outcome, from }) => kind !== 'revoke' && outcome === 'success' && from > cut.to)
    .map((event) => `a success after the family was cut: ${describe(cut, event)}`);
}

/** An acknowledged token that was refused although nothing had been done that could have ended it. */
function refusedWithoutReason(events: readonly Event[]): string[] {
  const { refreshTokens, accessTokens } = acknowledged(events);
  const ending = events.filter((event, index) => mayEnd(event, events.slice(0, index), refreshTokens));
  return events
    .filter(({ outcome }) => outcome === 'refused' || outcome === 'reused')
    .filter(({ credential }) => refreshTokens.has(credential) || accessTokens.has(credential))
    .filter((event) => !ending.some((other) => other !== event && other.from < event.to))
    .filter((event) => !events.some((other) => other !== event && spent(other, event)))
    .map((event) => `an acknowledged token was refused: ${describe(event)}`);
}

/** What could end the family, or the token it names: a revocation, or a spend of what was presented before. */
function mayEnd(event: Event, before: readonly Event[], refreshTokens: ReadonlySet<string>): boolean {
  if (event.kind === 'revoke') return refreshTokens.has(event.credential);
  return isSpend(event) && before.some(({ credential }) => credential === event.credential);
}

/** Whether `other` had spent or revoked the very token that `event` was refused. */
function spent(other: Event, event: Event): boolean {
  if (other.credential !== event.credential || other.from >= event.to) return false;
  return other.kind === 'revoke' || (isSpend(other) && other.outcome !== 'refused');
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
      ({ kind, family, credential, outcome, from, to }) =>
        `${kind} of …${credential.slice(-8)} in ${family} (${Math.round(from)} to ${Math.round(to)}): ${outcome}`,
    )
    .join('; ');
}
