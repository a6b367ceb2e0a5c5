/**
 * Where to go after signing in: a path of this service and nothing else. A second slash or
 * a backslash would make a browser read the rest as another host.
 */
export function safeReturnTo(text: string | undefined): string {
  if (text === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  return text;
}

export const loginPath = (returnTo: string): string => `/login?return_to=${encodeURIComponent(returnTo)}`;
