/**
 * A set of scopes as bits: the scope of a grant or token fits in one integer, and
 * "does not exceed" is one AND, in SQL as well as here.
 */
export type ScopeSet = number;

export type ScopeName = (typeof SCOPES)[number]['name'];

export type Scope = {
  readonly name: ScopeName;
  /** Stored in grants and signed into access tokens (in three bytes): never change or reuse one. */
  readonly bit: ScopeSet;
  /** An application has it as a required scope unless its developer chooses otherwise. */
  readonly byDefault: boolean;
  readonly consentTitle: string;
  readonly formTitle: string;
  /** Shown to the developer behind `formTitle`. */
  readonly formDetail: string;
  /** Completes "Can read …" on the page of connections. */
  readonly canRead: string;
};

/**
 * Every scope, in the order in which a granted scope is written, and every text that is shown about it.
 * The claims of each scope are in profile.ts.
 */
const SCOPES = [
  {
    name: 'profile',
    bit: 1 << 0,
    byDefault: true,
    consentTitle: 'Profile',
    formTitle: 'Profile',
    formDetail: 'name, user name, picture and language',
    canRead: 'your profile',
  },
  {
    name: 'email',
    bit: 1 << 1,
    byDefault: true,
    consentTitle: 'E-mail address',
    formTitle: 'E-mail',
    formDetail: 'the address, and whether it is verified',
    canRead: 'your e-mail address',
  },
] as const;

export const NO_SCOPE: ScopeSet = 0;
/** A bit that no grant has: a request for it exceeds every grant. */
export const UNKNOWN_SCOPE: ScopeSet = 1 << 30;

export const allScopes = (): readonly Scope[] => SCOPES;
export const scopeNames = (): readonly ScopeName[] => SCOPES.map(({ name }) => name);

export const includes = (set: ScopeSet, part: ScopeSet): boolean => (set & part) === part;

export const scopesIn = (set: ScopeSet): readonly Scope[] => SCOPES.filter(({ bit }) => includes(set, bit));

export const unionOf = (scopes: readonly Scope[]): ScopeSet =>
  scopes.reduce((set, { bit }) => set | bit, NO_SCOPE);

export const defaultScope = (): ScopeSet => unionOf(SCOPES.filter(({ byDefault }) => byDefault));

const BITS: ReadonlyMap<string, ScopeSet> = new Map(SCOPES.map(({ name, bit }) => [name, bit]));

export const scopeOf = (name: ScopeName): ScopeSet => BITS.get(name)!;

const textOf = (set: ScopeSet): string =>
  scopesIn(set)
    .map(({ name }) => name)
    .join(' ');

/** Every token response holds one of these texts, so they are made once. */
const TEXTS = Array.from({ length: unionOf(SCOPES) + 1 }, (_, set) => textOf(set));

export const formatScope = (set: ScopeSet): string => TEXTS[set] ?? '';

/** Parses names separated by spaces (RFC 6749 3.3). Undefined when one of them is unknown. */
export function parseScope(text: string): ScopeSet | undefined {
  let set = NO_SCOPE;
  for (const name of text.split(' ')) {
    if (name === '') continue;
    const bit = BITS.get(name);
    if (bit === undefined) return undefined;
    set |= bit;
  }
  return set;
}
