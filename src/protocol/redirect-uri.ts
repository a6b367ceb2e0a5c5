/**
 * What may be registered as a redirect URI. At authorization and exchange a URI is only
 * ever compared character for character with a registered one (RFC 9700 2.1): it is
 * parsed here, once, and nowhere else.
 */
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
const MAX_LENGTH = 2000;

export type RedirectUriFault =
  | 'too_long'
  | 'forbidden_character'
  | 'wildcard'
  | 'not_absolute'
  | 'fragment'
  | 'user_info'
  | 'scheme'
  | 'plain_http';

const WORDS: Record<RedirectUriFault, string> = {
  too_long: `is longer than ${MAX_LENGTH} characters`,
  forbidden_character:
    'holds a space, a control character, a backslash, a quote or a character that is not ASCII',
  wildcard: 'holds a wildcard (*): register each address in full',
  not_absolute: 'is not an absolute URL such as https://app.example/callback',
  fragment: 'holds a fragment (#…), which a redirect cannot carry',
  user_info: 'holds a user name or password before the host',
  scheme: 'must begin with https://',
  plain_http: 'uses plain http: allowed only for localhost, 127.0.0.1 and [::1]',
};

export const explainRedirectUriFault = (fault: RedirectUriFault): string => WORDS[fault];

/** The first thing wrong with a URI that somebody wants to register, or undefined when it may be. */
export function redirectUriFault(text: string): RedirectUriFault | undefined {
  if (text.length > MAX_LENGTH) return 'too_long';
  if (!/^[\x21-\x7e]*$/.test(text) || /[\\"<>^`{|}]/.test(text)) return 'forbidden_character';
  if (text.includes('*')) return 'wildcard';
  if (text.includes('#')) return 'fragment';
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?]+)/i.exec(text);
  if (!match || !URL.canParse(text)) return 'not_absolute';
  const url = new URL(text);
  if (match[2]?.includes('@') || url.username || url.password) return 'user_info';
  // Other characters have no business in a host name, and this one goes into a Content-Security-Policy.
  if (!/^([a-z0-9.-]+|\[[0-9a-f:]+\])$/.test(url.hostname)) return 'not_absolute';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'scheme';
  return LOOPBACK_HOSTS.has(url.hostname) ? undefined : 'plain_http';
}

/**
 * A redirect URI with response parameters added; what is registered stays as it is, byte for byte.
 * `rawState` is percent-encoded already: it goes back exactly as it came.
 */
export function redirectWith(uri: string, parameters: Record<string, string>, rawState?: string): string {
  const added =
    new URLSearchParams(parameters).toString() + (rawState === undefined ? '' : `&state=${rawState}`);
  const joint = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return uri + joint + added;
}

/** Of the registered ones the one that was most likely meant: it has most in common at both ends. */
export function nearest(sent: string, registered: readonly string[]): string | undefined {
  const likeness = (uri: string) => {
    const shorter = Math.min(uri.length, sent.length);
    let head = 0;
    while (head < shorter && uri[head] === sent[head]) head++;
    let tail = 0;
    while (tail < shorter - head && uri.at(-1 - tail) === sent.at(-1 - tail)) tail++;
    return (head + tail) / Math.max(uri.length, sent.length);
  };
  return registered.toSorted((a, b) => likeness(b) - likeness(a))[0];
}
