const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
const MAX_LENGTH = 2000;

/** Each completes a sentence that begins with the URI. */
const FAULTS = {
  tooLong: `is longer than ${MAX_LENGTH} characters`,
  forbiddenCharacter:
    'holds a space, a control character, a backslash, a quote or a character that is not ASCII',
  wildcard: 'holds a wildcard (*): register each address in full',
  notAbsolute: 'is not an absolute URL such as https://app.example/callback',
  fragment: 'holds a fragment (#…), which a redirect cannot carry',
  userInfo: 'holds a user name or password before the host',
  scheme: 'must begin with https://',
  plainHttp: 'uses plain http: allowed only for localhost, 127.0.0.1 and [::1]',
};

/**
 * Why a URI may not be registered as a redirect URI, or undefined. This is the only place that parses one:
 * authorization and code exchange compare character for character with a registered URI (RFC 9700 2.1).
 */
export function redirectUriFault(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return FAULTS.tooLong;
  if (!/^[\x21-\x7e]*$/.test(uri) || /[\\"<>^`{|}]/.test(uri)) return FAULTS.forbiddenCharacter;
  if (uri.includes('*')) return FAULTS.wildcard;
  if (uri.includes('#')) return FAULTS.fragment;
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?]+)/i.exec(uri);
  if (!match || !URL.canParse(uri)) return FAULTS.notAbsolute;
  const url = new URL(uri);
  if (match[2]?.includes('@') || url.username || url.password) return FAULTS.userInfo;
  // The host goes into a Content-Security-Policy, where ';' and ',' end a directive or a policy.
  if (!/^([a-z0-9.-]+|\[[0-9a-f:]+\])$/.test(url.hostname)) return FAULTS.notAbsolute;
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return FAULTS.scheme;
  return LOOPBACK_HOSTS.has(url.hostname) ? undefined : FAULTS.plainHttp;
}

/**
 * Adds response parameters to a redirect URI and leaves the registered part unchanged, byte for byte.
 * `rawState` is still percent-encoded as the client sent it and is returned the same way (RFC 6749 4.1.2).
 */
export function redirectWith(uri: string, parameters: Record<string, string>, rawState?: string): string {
  const added =
    new URLSearchParams(parameters).toString() + (rawState === undefined ? '' : `&state=${rawState}`);
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return uri + separator + added;
}

/** The registered URI that was most likely meant: the one that shares most characters at both ends. */
export function nearest(sent: string, registered: readonly string[]): string | undefined {
  const similarity = (uri: string) => {
    const shorter = Math.min(uri.length, sent.length);
    let head = 0;
    while (head < shorter && uri[head] === sent[head]) head++;
    let tail = 0;
    while (tail < shorter - head && uri.at(-1 - tail) === sent.at(-1 - tail)) tail++;
    return (head + tail) / Math.max(uri.length, sent.length);
  };
  return registered.toSorted((a, b) => similarity(b) - similarity(a))[0];
}
