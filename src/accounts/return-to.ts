/**
 * Where to go after signing in: only a path of this service, so that it is no open redirect. After a second slash
 * or a backslash a browser would read the rest as another host.
 */
export function safeReturnTo(text: string | undefined): string {
  if (text === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  return text;
}

export const loginPath = (returnTo: string): string => `/login?return_to=${encodeURIComponent(returnTo)}`;
