/** Sessions that will do (postgresql.org/docs/current/libpq-connect.html, target_session_attrs). */
const SESSION_KINDS = ['any', 'read-write', 'primary'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

type PostgresServers = {
  /** One URL per server, in the order in which they are tried. */
  readonly urls: readonly string[];
  readonly sessionKind: SessionKind;
};

/**
 * Reads `postgres://USER:PASSWORD@HOST1:PORT,HOST2:PORT/DATABASE?target_session_attrs=read-write`. libpq knows such
 * URLs; pg and `new URL` do not. Undefined when it is not one.
 */
export function parsePostgresUrl(url: string): PostgresServers | undefined {
  const match = /^(postgres(?:ql)?:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?$/.exec(url);
  if (!match) return undefined;
  const [, scheme, authority = '', path, query = ''] = match;
  const userEnd = authority.lastIndexOf('@') + 1;
  const parameters = new URLSearchParams(query);
  const sessionKind = parameters.get('target_session_attrs') ?? 'any';
  parameters.delete('target_session_attrs');
  const rest = parameters.size > 0 ? `${path}?${parameters}` : path;
  const hosts = authority.slice(userEnd).split(',');
  const urls = hosts.map((host) => `${scheme}${authority.slice(0, userEnd)}${host}${rest}`);
  const named = urls.length === 1 || hosts.every((host) => host !== '');
  return named && isSessionKind(sessionKind) && urls.every((one) => URL.canParse(one))
    ? { urls, sessionKind }
    : undefined;
}

const isSessionKind = (text: string): text is SessionKind => SESSION_KINDS.some((kind) => kind === text);
