/**
 * A scope is a set, kept as bits: a grant's and a token's fit in one integer, and
 * "does not go beyond" is one AND, in SQL as well as here.
 */
export type ScopeSet = number;

/** In the fixed order in which a granted scope is written. The bit of a name is its place here: append only. */
export const SCOPE_NAMES = ['profile', 'email'] as const;
export type ScopeName = (typeof SCOPE_NAMES)[number];

export const NO_SCOPE: ScopeSet = 0;
/** A bit that no grant has: what was asked for goes beyond every one. */
export const UNKNOWN_SCOPE: ScopeSet = 1 << 30;

export const scopeOf = (name: ScopeName): ScopeSet => 1 << SCOPE_NAMES.indexOf(name);

export const includes = (set: ScopeSet, part: ScopeSet): boolean => (set & part) === part;

export function scopeNames(set: ScopeSet): ScopeName[] {
  return SCOPE_NAMES.filter((name) => includes(set, scopeOf(name)));
}

/** The text of each possible set is made once: it is written at every token response. */
const TEXTS = Array.from({ length: 1 << SCOPE_NAMES.length }, (_, set) => scopeNames(set).join(' '));

export const formatScope = (set: ScopeSet): string => TEXTS[set] ?? '';

/** RFC 6749 3.3: names separated by spaces. Undefined when a name is not ours. */
export function parseScope(text: string): ScopeSet | undefined {
  let set = NO_SCOPE;
  for (const name of text.split(' ')) {
    if (name === '') continue;
    const index = SCOPE_NAMES.indexOf(name as ScopeName);
    if (index < 0) return undefined;
    set |= 1 << index;
  }
  return set;
}
